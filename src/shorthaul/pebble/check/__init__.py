"""The checker: an independent replay of the red-blue pebble game."""
