# The same numbers as in newick_constants.py, for compiled kernels.
cdef enum:
    UNFINISHED = 0
    FINE = 1
    UNOPENED = 2
    UNCLOSED = 3
    COMMENT = 4
    QUOTE = 5
    COMMA = 6
    OUTSIDE = 7
    TWICE = 8
    NUMBER = 9
    EMPTY = 10
