"""Writing an instruction into a chat. The chat that is given stays as it is."""

from collections.abc import Mapping, Sequence
from typing import Any

from kimina.reward.length.base import Message


def with_user_suffix(messages: Sequence[Mapping[str, Any]], text: str) -> list[Message]:
    """Return the chat with ``text`` as a last paragraph of the last user message.

    A paragraph of its own, because a prompt may end with a fence, which ends at a line of its own.

    Raises:
        ValueError: there is no user message, or its content is no text.
    """
    found = [dict(message) for message in messages]
    for message in reversed(found):
        if message["role"] == "user":
            message["content"] = f"{_text(message)}\n\n{text}"
            return found
    raise ValueError("the chat has no user message to write a token budget into")


def with_system_suffix(messages: Sequence[Mapping[str, Any]], text: str) -> list[Message]:
    """Return the chat with ``text`` as the last paragraph of its system message, which is added if there is none.

    Raises:
        ValueError: the chat is empty, or the system message's content is no text.
    """
    found = [dict(message) for message in messages]
    if not found:
        raise ValueError("the chat is empty; there is no prompt to write a token limit into")
    if found[0]["role"] != "system":
        return [{"role": "system", "content": text}, *found]
    found[0]["content"] = f"{_text(found[0])}\n\n{text}"
    return found


def _text(message: Message) -> str:
    content = message["content"]
    if not isinstance(content, str):
        raise ValueError(f"the content of a {message['role']} message is {type(content).__name__}, not a text")
    return content.rstrip("\n")
