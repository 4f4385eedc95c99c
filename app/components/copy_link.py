"""A button that copies the address of the page as the browser has it: `show_copy_link`."""

from __future__ import annotations

from xcwork_app.components import layout

_component = layout.define_component("copy_link")


def show_copy_link(*, key: str) -> None:
    """Show the button. Only the browser knows the whole address, so it copies it by itself."""
    _component(key=key, data=layout.describe_frame("content"), width="content")
