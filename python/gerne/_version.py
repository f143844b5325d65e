"""The version of the package; the library has to be of the same major and minor version."""
__version__ = "0.1.0"
