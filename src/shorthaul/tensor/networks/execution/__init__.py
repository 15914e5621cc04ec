"""Plans of networks executed on a model's weights and inputs."""
