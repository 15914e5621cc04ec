"""What happens while kernels are compiled."""
