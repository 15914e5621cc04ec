cdef enum:
    COST = 0
    OCCUPANCY = 1
    ORIGIN = 2
    NODE = 3
    WHOLE = 4
    COLUMNS = 5
