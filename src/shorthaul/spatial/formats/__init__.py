"""Readers and writers of trees and layouts."""
