"""Places that fill a box: what lies beyond its border is read by nothing, so nothing has to be counted there."""
