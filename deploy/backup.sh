#!/bin/sh
# Makes a backup in a directory, named after the time, and looks through it. Then deletes the backups there that are
# older than some days. What killed backups have left goes first, since it may fill the disk: none takes more than a day.
#   portcullis-backup DIRECTORY [DAYS]
set -eu
directory=${1:?the directory of the backups}
days=${2:-30}
archive=$directory/$(date -u +%Y-%m-%dT%H%M%SZ).tar
find "$directory" -maxdepth 1 -type f -name '.*.tar.????????' -mmin +1440 -delete
portcullis backup "$archive"
portcullis backup --verify "$archive"
find "$directory" -maxdepth 1 -name '*.tar' -mtime "+$days" -delete
