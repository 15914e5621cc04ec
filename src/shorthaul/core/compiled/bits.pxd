# The same functions as in bits.py, for compiled kernels, which have them inlined.

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static __inline long long shorthaul_lowest(unsigned long long word) {
        unsigned long at; _BitScanForward64(&at, word); return at; }
    static __inline long long shorthaul_highest(unsigned long long word) {
        unsigned long at; _BitScanReverse64(&at, word); return at; }
    static __inline long long shorthaul_ones(unsigned long long word) { return (long long)__popcnt64(word); }
    #else
    static inline long long shorthaul_lowest(unsigned long long word) { return __builtin_ctzll(word); }
    static inline long long shorthaul_highest(unsigned long long word) { return 63 - __builtin_clzll(word); }
    static inline long long shorthaul_ones(unsigned long long word) { return __builtin_popcountll(word); }
    #endif
    #if defined(__GNUC__)  // the empty line of assembly keeps the compiler from leaving out a function that only fetches
    #define shorthaul_prefetch(place) do { __builtin_prefetch(place, 1); __asm__ volatile(""); } while (0)
    #else
    #define shorthaul_prefetch(place) ((void)(place))
    #endif
    """
    long long lowest "shorthaul_lowest"(unsigned long long word) noexcept nogil
    long long highest "shorthaul_highest"(unsigned long long word) noexcept nogil
    long long ones "shorthaul_ones"(unsigned long long word) noexcept nogil
    void shorthaul_prefetch(const void* place) noexcept nogil


cdef inline bint has(const unsigned long long[::1] words, long long first, long long item) noexcept nogil:
    return (words[first + (item >> 6)] >> (item & 63)) & 1


cdef inline void add(unsigned long long[::1] words, long long first, long long item) noexcept nogil:
    words[first + (item >> 6)] |= <unsigned long long> 1 << (item & 63)


cdef inline void remove(unsigned long long[::1] words, long long first, long long item) noexcept nogil:
    words[first + (item >> 6)] &= ~(<unsigned long long> 1 << (item & 63))


cdef inline unsigned long long bit(long long item) noexcept nogil:
    return <unsigned long long> 1 << item


cdef inline bint within(
    const unsigned long long[::1] small, long long first, const unsigned long long[::1] large, long long begin,
    long long count
) noexcept nogil:
    cdef long long k
    for k in range(count):
        if small[first + k] & ~large[begin + k]:
            return False
    return True


cdef inline long long members(
    const unsigned long long[::1] words, long long first, long long count, long long[::1] into
) noexcept nogil:
    cdef long long k
    cdef long long size = 0
    cdef unsigned long long word
    for k in range(count):
        word = words[first + k]
        while word:
            into[size] = 64 * k + lowest(word)
            size += 1
            word &= word - 1
    return size


cdef inline unsigned long long wrapped_sum(unsigned long long a, unsigned long long b) noexcept nogil:
    return a + b


cdef inline unsigned long long wrapped_product(unsigned long long a, unsigned long long b) noexcept nogil:
    return a * b


cdef inline unsigned long long complement(unsigned long long word) noexcept nogil:
    return ~word


cdef inline void prefetch(unsigned long long[::1] words, long long item) noexcept nogil:
    shorthaul_prefetch(&words[item])
