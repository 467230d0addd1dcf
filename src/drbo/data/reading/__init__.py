"""From a file, a folder or a database to frames and blocks of rows."""
