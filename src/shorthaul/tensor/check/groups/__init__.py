"""Which groups of operators a certificate has to be compared with, whole or in parts."""
