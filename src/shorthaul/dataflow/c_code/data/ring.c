#define _POSIX_C_SOURCE 200809L
#include "ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int tallying = 0;
_Thread_local double waited = 0;

double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void *room(const struct ring *ring, size_t count, size_t bytes) {
  void *made = count <= (size_t)-1 / (bytes + 1) ? calloc(count, bytes > 0 ? bytes : 1) : NULL;
  if (made == NULL) {
    fprintf(stderr, "no memory for the buffer %s: %zu x %zu bytes\n", ring->name, count, bytes);
    exit(2);
  }
  return made;
}

static unsigned char *place_of(const struct ring *ring, long token) {
  return ring->places + (size_t)(token % ring->capacity) * ring->bytes;
}

void ring_open(struct ring *ring, long capacity) {
  ring->capacity = capacity;
  ring->places = room(ring, (size_t)capacity, ring->bytes);
  ring->taken = room(ring, (size_t)ring->readers, sizeof *ring->taken);
  for (long token = 0; token < ring->delay; token++) ring->initial(token, place_of(ring, token));
  ring->written = ring->delay;
  pthread_mutex_init(&ring->lock, NULL);
  pthread_cond_init(&ring->changed, NULL);
}

static void add(struct tally *tally, const unsigned char *data, size_t bytes) {
  if (!tallying) return;
  unsigned long long digest = tally->digest ^ 0xcbf29ce484222325ULL;
  for (size_t at = 0; at < bytes; at += 8) {
    unsigned long long word = 0;
    memcpy(&word, data + at, bytes - at < 8 ? bytes - at : 8);
    digest = (digest ^ word) * 0x9e3779b97f4a7c15ULL;
    digest ^= digest >> 29;
  }
  tally->digest = digest;
  tally->tokens++;
}

static long last_taken(const struct ring *ring) {
  long least = ring->taken[0];
  for (int reader = 1; reader < ring->readers; reader++)
    if (ring->taken[reader] < least) least = ring->taken[reader];
  return least;
}

/* Wait until the ring changes. The lock is held. */
static void sleep_on(struct ring *ring) {
  double begun = seconds();
  pthread_cond_wait(&ring->changed, &ring->lock);
  waited += seconds() - begun;
}

void *ring_place(struct ring *ring) {
  pthread_mutex_lock(&ring->lock);
  while (ring->written - last_taken(ring) >= ring->capacity) sleep_on(ring);
  unsigned char *place = place_of(ring, ring->written);
  pthread_mutex_unlock(&ring->lock);
  return place;
}

void ring_put(struct ring *ring, struct tally *tally) {
  add(tally, place_of(ring, ring->written), ring->bytes); /* nobody else changes written */
  pthread_mutex_lock(&ring->lock);
  ring->written++;
  pthread_cond_broadcast(&ring->changed);
  pthread_mutex_unlock(&ring->lock);
}

const void *ring_token(struct ring *ring, int reader, struct tally *tally) {
  pthread_mutex_lock(&ring->lock);
  while (ring->written == ring->taken[reader]) sleep_on(ring);
  const unsigned char *token = place_of(ring, ring->taken[reader]);
  pthread_mutex_unlock(&ring->lock);
  add(tally, token, ring->bytes);
  return token;
}

void ring_leave(struct ring *ring, int reader) {
  pthread_mutex_lock(&ring->lock);
  ring->taken[reader]++;
  pthread_cond_broadcast(&ring->changed);
  pthread_mutex_unlock(&ring->lock);
}

void ring_read(struct ring *ring, int reader, void *copy, struct tally *tally) {
  memcpy(copy, ring_token(ring, reader, tally), ring->bytes);
  ring_leave(ring, reader);
}

void ring_write(struct ring *ring, const void *copy, struct tally *tally) {
  memcpy(ring_place(ring), copy, ring->bytes);
  ring_put(ring, tally);
}
