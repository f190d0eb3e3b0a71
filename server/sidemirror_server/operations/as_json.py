"""A message of the contract as JSON, with the contract's names."""

import json

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message


def print_json(message: Message) -> None:
    """Prints it, indented."""
    told = MessageToDict(message, preserving_proto_field_name=True)
    print(json.dumps(told, indent=2, ensure_ascii=False))
