#!/bin/sh
# Makes a backup in a directory, named after the time, and looks through it. Then deletes the backups there that are
# older than some days.
#   portcullis-backup DIRECTORY [DAYS]
set -eu
directory=${1:?the directory of the backups}
days=${2:-30}
archive=$directory/$(date -u +%Y-%m-%dT%H%M%SZ).tar
portcullis backup "$archive"
portcullis backup --verify "$archive"
find "$directory" -maxdepth 1 -name '*.tar' -mtime "+$days" -delete
