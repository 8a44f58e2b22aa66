"""Server-sent events, which both wires are carried by: bytes to frames, and frames to bytes.

`parser` decodes events, `frames` cuts the bytes after each frame and does not change them, `writer` has the way back.
Nothing here knows what the data of an event means.
"""
