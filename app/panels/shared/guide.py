"""The rail of the guided mode: what a page is about, its formula, a question to check yourself, its notebook.

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
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

FOLDER = Path(__file__).parents[2] / "teach"
NOTEBOOKS = Path(__file__).parents[3] / "notebooks"
_ANSWER = re.compile(r"^- \[([ x])\] (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Lesson:
    """The content of one rail."""

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


def show(page: str) -> None:
    """Show the rail of a page, if it has a lesson."""
    file = FOLDER / f"{page}.md"
    if not file.is_file():
        return
    lesson = read_lesson(file.read_text("utf-8"))
    with st.container(border=True):
        st.subheader(lesson.title, anchor=False)
        st.markdown(lesson.text)
        if lesson.question:
            _ask(page, lesson)
        if lesson.notebook and (NOTEBOOKS / lesson.notebook).is_file():
            st.caption(f"The same as a notebook: notebooks/{lesson.notebook} (`make notebooks`)")


def _ask(page: str, lesson: Lesson) -> None:
    st.markdown("**Check yourself**")
    given = st.radio(lesson.question, lesson.answers, index=None, key=f"guide.{page}.answer")
    if given is None:
        return
    if given == lesson.right:
        st.success(f"Right. {lesson.reason}", icon=":material/check:")
    else:
        st.warning("Not quite. Try another answer.", icon=":material/close:")
