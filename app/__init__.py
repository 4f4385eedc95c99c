"""The dashboard. `xcwork app` starts it.

`main.py` is the shell: menu, side bar, lesson, errors as sentences. A page is one file in `app_pages/` (at most 150
lines) that draws panels; a panel is a function in `panels/`. Imports point one way: pages → page_header, panels →
widgets, components → navigation → views → caches → sources, state. Views compute and cache what pages show; they draw
nothing. Colours and marks are in `tokens`, rules for the frame in `static/frame.css`. To add a page:

1. its place in `navigation.PLACES`, and `app_pages/<name>.py`, which begins with `show_page_header("<name>")`;
2. `selection.get_source()` and `require_finished_run()` say what it is about; `caches` brings datasets, models and
   records;
3. what several pages share is a field of `state.View`; everything else is a widget with a key `<page>.<what>` and
   `bind="query-params"`, so that links, Back and Forward find it again (`docs/architecture.md`, "State and
   addresses"). A page that has nothing more to show raises `widgets.PageEnd`;
4. figures go through `widgets.show_figure`, tables through `show_table`, text from outside through `plain`; rows to
   choose from are a `components.label_list`, a text with evidence is a `components.marked_text`;
5. `teach/<name>.md` is its lesson.
"""
