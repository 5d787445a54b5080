"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "link_life_too_long": "At most {most} seconds",
        "no_such_link": "There is no such link",
        "no_such_file": "There is no such file",
        "body_not_multipart": "The body is not well-formed {type}",
        "boundary_missing": "The boundary of the body is missing or malformed",
        "multipart_required": "The body must be {type}, and not compressed",
        "only_file_field": "The body must have the field {field} only",
        "file_required": "The field must be a file, with its name",
        "one_part_only": "The body must have one part only",
        "too_much_around_file": "There is too much around the file",
        "files_too_large_together": "The files of this user together would be too large",
        "too_many_files": "This user has as many files as one may have",
        "extension_refused": "Files with this extension are not accepted",
        "content_refused": "Files with this content are not accepted",
        "content_differs_from_extension": "The content is not what the extension of the name says",
        "file_too_large": "The file is larger than {most} bytes",
        "upload_paused": "The upload took too long between two of its parts",
        "too_many_uploads": "Too many uploads at once",
        "upload_too_slow": "The upload took too long",
        "file_name_missing": "must have a file name",
        "file_name_too_long": "must have a file name of at most {most} bytes",
        "file_name_unseen": "must have a file name without characters that can't be seen",
        "file_name_is_path": "must have a file name, not a path",
        "file_name_ends": "must have a file name that neither begins nor ends with a space, nor ends with a "
        "dot",
        "sweep_elsewhere": "another sweep is running",
        "objects_deleted": "{count} objects deleted",
    }
)
