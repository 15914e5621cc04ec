/* Digests that stand in for what actors compute. */
#ifndef STAND_IN_H
#define STAND_IN_H

#include <stddef.h>
#include <string.h>

static inline unsigned long long mixed(unsigned long long digest, long long value)
{
  digest = (digest ^ (unsigned long long)value) * 0x9e3779b97f4a7c15ULL;
  return digest ^ (digest >> 29);
}

/* Eight bytes at a time, what is left of them with zeros. */
static inline unsigned long long digested(unsigned long long digest, const void *token, size_t bytes)
{
  const unsigned char *data = token;
  for (size_t at = 0; at < bytes; at += 8) {
    long long word = 0;
    memcpy(&word, data + at, bytes - at < 8 ? bytes - at : 8);
    digest = mixed(digest, word);
  }
  return digest;
}

static inline void fill(unsigned long long digest, void *token, size_t bytes)
{
  unsigned char *data = token;
  for (size_t at = 0; at < bytes; at += 8) {
    digest = mixed(digest, (long long)at);
    memcpy(data + at, &digest, bytes - at < 8 ? bytes - at : 8);
  }
}

#endif
