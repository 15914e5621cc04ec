# The same as in replay_constants.py.
cdef enum:
    RED = 1
    BLUE = 2
    COMPUTED = 4
    INPUT = 8
    ABSENT = 1
    COMPUTED_INPUT = 2
    REPEATED = 4
    MISSING_OPERAND = 8
    OVER_BUDGET = 16
    USELESS = 32
