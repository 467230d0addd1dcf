"""Files that are read as untrusted and written without loss, and the data sets that ship with the package."""
