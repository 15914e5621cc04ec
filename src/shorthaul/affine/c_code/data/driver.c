/*
@HEAD@
 *
 *   cc -O3 -std=c11 THIS.c -lm -o compare && ./compare      compares both; -fopenmp: loops without dependences in parallel
 *   cc -O3 -std=c11 -DNO_DRIVER -c THIS.c                    @NAME@_tiled alone, for a program of yours
 */
#define _POSIX_C_SOURCE 199309L
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

@SIZES@

#ifdef _OPENMP
#define PARALLEL _Pragma("omp parallel for")
#else
#define PARALLEL
#endif

/* Programs may compare numbers with and without a sign; not every one needs all functions of this file. */
#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wunused-function"
#ifndef __clang__ /* compilers do not see that the loop that sets local data is executed */
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#endif

/* Before innermost loops without dependences. */
#if defined(__GNUC__) && !defined(__clang__)
#define VECTOR _Pragma("GCC ivdep")
#else
#define VECTOR
#endif

#ifdef NO_DRIVER
#define LINKAGE
#define OUTSIDE extern
#else
#define LINKAGE static
#define OUTSIDE static
#endif

#undef min
#undef max
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define floord(n, d) (((n) < 0) ? -((-(n) + (d) - 1) / (d)) : (n) / (d))

#define floor_mod(n, d) ((n) - floord(n, d) * (d))

/* The first multiple of a tile's size from a value on. */
static inline long first_origin(long least, long tile) { return floord(least + tile - 1, tile) * tile; }

static inline void *sh_room(long count, size_t size) {
  void *found = calloc(count > 0 ? (size_t)count : 1, size);
  if (found == NULL) {
    fprintf(stderr, "there is not enough memory\n");
    exit(2);
  }
  return found;
}

@GLOBALS@

#ifndef NO_DRIVER
/* The program as written; it may have empty bodies, branches without braces, and variables that nothing reads. */
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdangling-else"
#pragma GCC diagnostic ignored "-Wempty-body"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Wunused-variable"
#endif
static @RESULT@ @NAME@_original(@SIGNATURE@) {
@UNUSED@
@LOCALS@
@BODY@
@RETURN@
}
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
#endif

@STATEMENTS@

/* The same instances in the derived order; beside the driver it is static as the original is, so that both know the sizes. */
LINKAGE @RESULT@ @NAME@_tiled(@TILED@);
LINKAGE @RESULT@ @NAME@_tiled(@TILED@) {
@UNUSED@
@PRIVATE@
@BUFFERS@
@LOOPS@
@AFTER@
@RETURN@
}
@UNDEFINED@

#ifndef NO_DRIVER
@REACH@

static double sh_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Values from 0.5 to 1.5, with a large diagonal where an array is square; small whole numbers for integers. */
static inline unsigned long sh_mixed(long at, unsigned long seed) {
  unsigned long found = (unsigned long)at * 2654435761UL + 40503UL * seed + 12345UL;
  found = ((found & 0xffffffffUL) ^ (found >> 15 & 0xffff)) * 2246822519UL & 0xffffffffUL;
  return found >> 8;
}

static inline double sh_value(long at, long row, unsigned long seed) {
  return 0.5 + (double)(sh_mixed(at, seed) & 0xffff) / 65536 + (row > 0 && at % (row + 1) == 0 ? (double)row : 0);
}

static inline double sh_difference(double a, double b) {
  if (a == b || (a != a && b != b)) return 0;
  return fabs(a - b) / fmax(1, fmax(fabs(a), fabs(b)));
}

/* Tables of pointers to the rows of an array, those of the first extent first. */
static inline void **sh_rows(void *data, const long *extents, int depth, size_t size) {
  long count = 0, number = 1, first = 0;
  for (int at = 0; at < depth - 1; at++) count += number *= extents[at];
  void **rows = sh_room(count, sizeof *rows);
  number = 1;
  for (int at = 0; at < depth - 1; at++) {
    number *= extents[at];
    for (long row = 0; row < number; row++)
      rows[first + row] = at < depth - 2 ? (void *)&rows[first + number + row * extents[at + 1]] : (char *)data + (size_t)(row * extents[depth - 1]) * size;
    first += number;
  }
  return rows;
}

#define COMPARE(array, size)                                                               \
  for (long sh_at = 0; sh_at < (size); sh_at++) COMPARE_ONE((double)(array)[sh_at], (double)sh_first_##array[sh_at], sizeof *(array))
#define COMPARE_SCALAR(name) COMPARE_ONE((double)(name), (double)sh_first_##name, sizeof(name))
#define COMPARE_ONE(a, b, bytes)                                                           \
  do {                                                                                     \
    const double sh_apart = sh_difference(a, b);                                                 \
    sh_largest = fmax(sh_largest, sh_apart);                                                        \
    if (!(sh_apart <= ((bytes) < 8 ? 1e-4 : 1e-9))) sh_wrong++;                                  \
    if (!isfinite(a)) sh_infinite++;                                                          \
    sh_compared++;                                                                            \
  } while (0)

int main(void) {
  long sh_wrong = 0, sh_infinite = 0, sh_compared = 0;
  double sh_largest = 0;
@DRIVER@
  printf("original %.6f s, tiled %.6f s, quotient %.3f\n", sh_original, sh_tiled, sh_original / sh_tiled);
  printf("compared %ld values, %ld not finite, %ld wrong, largest difference %g\n", sh_compared, sh_infinite, sh_wrong, sh_largest);
  return sh_wrong > 0;
}
#endif
