cdef class Sets:
    cdef readonly int[::1] items
    cdef readonly long long[::1] begin
    cdef unsigned long long[::1] hashes
    cdef int[::1] slots
    cdef readonly long long count

cdef long long intern(Sets sets, int[::1] buffer, long long first, long long count) noexcept nogil

cdef class Graph:
    cdef readonly long long operators
    cdef readonly long long tensors
    cdef const int[::1] first_input
    cdef const int[::1] inputs
    cdef const int[::1] output
    cdef const int[::1] producer
    cdef const int[::1] first_consumer
    cdef const int[::1] consumers
    cdef const int[::1] shape
    cdef const unsigned char[::1] pointwise
    cdef const double[::1] size
    cdef const double[::1] least
    cdef double capacity
    cdef double bandwidth
    cdef long long most_inputs

cdef class Groups:
    cdef readonly Graph graph
    cdef readonly Sets members
    cdef long long known
    cdef int[::1] facts
    cdef long long[::1] first_taken
    cdef long long[::1] first_made
    cdef double[::1] compute
    cdef double[::1] taken_size
    cdef double[::1] stored_size
    cdef int[::1] shape
    cdef int[::1] buffer
    cdef int[::1] queue
    cdef int[::1] mark
    cdef int[::1] mark_tensor
    cdef int stamp

cdef long long made(Groups groups, int[::1] operators, long long first, long long count) noexcept nogil
cdef long long part(Groups groups, int[::1] operators, long long first, long long count) noexcept nogil
