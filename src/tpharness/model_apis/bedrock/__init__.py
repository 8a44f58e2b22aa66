"""Amazon Bedrock's Converse API: what it accepts, and messages in its shape."""
