"""The Vercel AI SDK's UI message stream: bytes to frames, frames to chunks, chunks to a journal, and back.

`sse` has the frames, `records` the record of each kind of chunk, `chunks` and `encode` the way in and out, `majors`
what each major version of the AI SDK takes, `fold` and `assembler` the client's side, `partial_json` arguments that
still stream.
"""
