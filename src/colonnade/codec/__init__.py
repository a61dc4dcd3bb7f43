"""Encodings and codecs: values to block bytes and back."""
