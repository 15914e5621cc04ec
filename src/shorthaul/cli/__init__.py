"""One command line, one file per engine."""
