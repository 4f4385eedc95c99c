"""The lesson of a page: what it is about, its formula, a question to check yourself, its notebook.

It opens as a drawer over the page, which keeps its width. `lesson=1` in the address opens it.

The text of a page is `teach/<page>.md`:

    # title
    paragraphs, formulas between $$
    ## Question
    the question
    - [ ] a wrong answer
    - [x] the right answer
    > why it is right
    ## Notebook
    00_tour.ipynb

On pages about one run it goes on with what `teach/methods/texts.md` says about the method of that run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from xcwork_app import caches, dialogs, state, widgets
from xcwork_app.views import selection

FOLDER = Path(__file__).parents[2] / "teach"
WIDTH_PIXELS = 420
OF_A_RUN = ("predict", "errors", "label_map", "decisions", "review")  # pages that show one run
METHOD_TEXTS = FOLDER / "methods" / "texts.md"
NOTEBOOKS = Path(__file__).parents[3] / "notebooks"
_ANSWER = re.compile(r"^- \[([ x])\] (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Lesson:
    """The content of one lesson."""

    title: str
    text: str
    question: str = ""
    answers: tuple[str, ...] = ()
    right: str = ""
    reason: str = ""
    notebook: str = ""


def read_lesson(markdown: str) -> Lesson:
    """Return the parts of a lesson."""
    heading, _, body = markdown.strip().partition("\n")
    text, _, rest = body.partition("\n## Question\n")
    quiz, _, notebook = rest.partition("\n## Notebook\n")
    found = _ANSWER.findall(quiz)
    question = quiz.split("\n- [", 1)[0].strip()
    reason = " ".join(line[1:].strip() for line in quiz.splitlines() if line.startswith(">"))
    right = next((answer for mark, answer in found if mark == "x"), "")
    answers = tuple(answer for _, answer in found)
    return Lesson(heading.removeprefix("# "), text.strip(), question, answers, right, reason, notebook.strip())


def has_lesson(page: str) -> bool:
    """Return whether a page has a lesson."""
    return (FOLDER / f"{page}.md").is_file()


def show_lesson_button(page: str) -> None:
    """Offer the lesson of a page, if it has one."""
    if has_lesson(page):
        st.button(
            "Lesson for this page",
            key="shell.lesson",
            icon=":material/school:",
            type="tertiary",
            on_click=lambda: state.update(lesson=True),
        )


def open_lesson(page: str) -> None:
    """Open the drawer with the lesson of a page, if the view asks for it and the page has one."""
    if not (state.view().lesson and has_lesson(page)):
        return
    lesson = read_lesson((FOLDER / f"{page}.md").read_text("utf-8"))
    drawer = dialogs.make_dialog(
        lesson.title, width=WIDTH_PIXELS, position="right", on_dismiss=lambda: state.update(lesson=False)
    )
    drawer(_show_lesson)(page, lesson, (state.view().lecture, state.view().wide))


def _show_lesson(page: str, lesson: Lesson, mode: tuple[bool, bool]) -> None:
    if (state.view().lecture, state.view().wide) != mode:
        st.rerun()  # all of the page, not the drawer alone
    st.markdown(lesson.text)
    if page in OF_A_RUN:
        _tell_method()
    if lesson.question:
        _ask_question(page, lesson)
    if lesson.notebook and (NOTEBOOKS / lesson.notebook).is_file():
        st.caption(f"The same as a notebook: notebooks/{lesson.notebook} (`make notebooks`)")
    _switch("Lecture size", "lecture", "All type at 120 %, for a projector.")
    _switch("Hide the side bar", "wide", "A button beside the title brings it back.")


def _switch(label: str, field: str, help: str) -> None:
    """Show a switch for a field of the view."""
    key = f"lesson.{field}"
    st.session_state[key] = getattr(state.view(), field)
    st.toggle(label, key=key, help=help, on_change=lambda: state.update(**{field: st.session_state[key]}))


def _tell_method() -> None:
    """Say what the method of the run does with the subject of the page."""
    run = selection.get_run()
    method = None if run is None else caches.get_record(run).get("method")
    texts = read_method_texts(METHOD_TEXTS.read_text("utf-8"))
    if run is not None and method in texts:
        name = widgets.escape_text(caches.get_record(run)["name"])
        st.markdown(f"**This run, {name}.** {texts[method]}")


def read_method_texts(markdown: str) -> dict[str, str]:
    """Return what is said about each method, by its name."""
    parts = markdown.split("\n## ")[1:]
    return {name.strip(): " ".join(text.split()) for name, _, text in (part.partition("\n") for part in parts)}


def _ask_question(page: str, lesson: Lesson) -> None:
    st.markdown("**Check yourself**")
    given = st.radio(lesson.question, lesson.answers, index=None, key=f"lesson.{page}.answer")
    if given is None:
        return
    if given == lesson.right:
        st.success(f"Right. {lesson.reason}", icon=":material/check:")
    else:
        st.warning(f"Not quite. {lesson.reason}", icon=":material/close:")
