cdef class Problem:
    cdef readonly const long long[:, ::1] tau
    cdef readonly const long long[::1] multicast_of
    cdef readonly const long long[::1] feeding
    cdef readonly const long long[::1] src
    cdef readonly const long long[::1] dst
    cdef readonly const long long[::1] token_bytes
    cdef readonly const long long[::1] delay
    cdef readonly const long long[:, ::1] ticks
    cdef readonly const long long[::1] core_type
    cdef readonly const long long[::1] core_tile
    cdef readonly const double[::1] core_cost
    cdef readonly const long long[::1] limits

cdef class Rules:
    cdef readonly const long long[::1] rank
    cdef readonly bint atomic  # a place is held from firing to firing, not from access to access
    cdef readonly bint common_tile  # CONS means the first reader on the tile that most readers are on
    cdef readonly double tolerance

cdef class Genotypes:
    cdef readonly signed char[::1] compact
    cdef readonly signed char[:, ::1] xi
    cdef readonly signed char[:, ::1] decision
    cdef readonly long long[:, ::1] binding

cdef class Groups:
    cdef readonly long long[::1] members
    cdef readonly long long[::1] starts

cdef class Mapping:
    cdef readonly signed char[::1] xi
    cdef readonly signed char[::1] decision
    cdef readonly long long[::1] binding
    cdef readonly bint compact
    cdef readonly unsigned char[::1] live  # actors that remain
    cdef readonly long long[::1] root
    cdef readonly Groups reads  # by actor, the edges it reads through
    cdef readonly Groups writes  # by actor, the buffers it writes
    cdef readonly Groups readers  # by buffer, its edges
    cdef readonly long long[::1] capacity  # tokens per buffer
    cdef readonly long long[::1] memory  # per buffer
    cdef readonly long long[::1] used  # bytes per memory
    cdef readonly long long[::1] execution_ticks  # per actor
    cdef readonly long long[::1] execution  # per actor, when in its firing it executes
    cdef readonly long long[::1] total  # per actor, the ticks of its firing
    cdef readonly long long[::1] duration  # per task
    cdef readonly long long[::1] offset  # per task, when in its firing it begins
    cdef readonly long long[::1] crossings  # per task, how many interconnects it crosses
    cdef readonly long long[:, ::1] crossed  # per task, which ones
    cdef readonly long long[::1] load  # ticks per resource and period
    cdef readonly long long[::1] blocks
    cdef readonly long long[::1] block_resource
    cdef readonly long long[::1] block_offset
    cdef readonly long long[::1] block_ticks
    cdef long long[::1] consumer  # per buffer, the core that CONS means
    cdef long long[:, ::1] votes
    cdef long long[::1] last_block
    cdef unsigned char[::1] kept

cdef long long floor_division(long long number, long long divisor) noexcept nogil
cdef void take_genotype(Problem problem, Mapping mapping, Genotypes genotypes, Py_ssize_t number) noexcept nogil
cdef void find_consumers(Problem problem, Rules rules, Mapping mapping) noexcept nogil
cdef bint bind_channels(Problem problem, Mapping mapping) noexcept nogil
cdef void lay_out(Problem problem, Mapping mapping) noexcept nogil
cdef void charge_access(
    Problem problem, long long[::1] load, Py_ssize_t e, long long core, long long memory, long long sign
) noexcept nogil
