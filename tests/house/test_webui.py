"""The rules of the dashboard's room, held against it; and each rule finds what is planted for it."""

import json
from collections.abc import Callable, Iterator

import pytest
import rules_webui
from rules_webui import Files
from source_tree import Offence

Rule = Callable[[Files], Iterator[Offence]]


@pytest.fixture(scope="module")
def files() -> Files:
    return rules_webui.read()


@pytest.mark.parametrize("rule", rules_webui.RULES)
def test_the_room_is_in_order(files: Files, rule: Rule) -> None:
    assert len(files) > 150 and "src/pages/queue/Queue.tsx" in files
    found = list(rule(files))
    assert not found, "\n" + "\n".join(map(str, found))


def lock_with(files: Files, path: str, **words: object) -> str:
    lock = json.loads(files["package-lock.json"])
    lock["packages"][path] = {"version": "1.0.0", **words}
    return json.dumps(lock)


PAGE = "src/pages/queue"
# rule, what is changed (None: removed), where it is found, words of the message
PLANTED = [
    (rules_webui.lengths, {"src/long.ts": "x;\n" * 401}, "src/long.ts", "more than 400"),
    (rules_webui.lengths, {"src/wide.css": "x" * 121}, "src/wide.css", "121 columns"),
    (rules_webui.readmes, {"src/new/one.ts": ""}, "src/new/README.md", "is not there"),
    (rules_webui.readmes, {"src/api/README.md": "\n" * 41}, "src/api/README.md", "more than 40 lines"),
    (rules_webui.edges, {"src/ui/x.ts": "import { hub } from '../live/hub';"}, "src/ui/x.ts", "may not use src/live"),
    (
        rules_webui.edges,
        {"src/shell/x.ts": "void import('../pages/job/Job');"},
        "src/shell/x.ts",
        "may not use src/pages",
    ),
    (rules_webui.pages, {f"{PAGE}/words.zh.json": None}, f"{PAGE}/words.zh.json", "is not there"),
    (rules_webui.pages, {f"{PAGE}/Queue.test.tsx": None}, PAGE, "has no test"),
    (rules_webui.pages, {"e2e/queue.spec.ts": None}, PAGE, "no test in a browser"),
    (rules_webui.ignored, {".gitignore": "/dist/"}, ".gitignore", "does not name e2e/.out"),
    (rules_webui.machines_paths, {"src/x.ts": "open('/root/glim/a');"}, "src/x.ts", "folder of one machine"),
]


@pytest.mark.parametrize("rule, change, where, words", PLANTED)
def test_what_is_planted_is_found(
    files: Files, rule: Rule, change: dict[str, str | None], where: str, words: str
) -> None:
    changed = {path: text for path, text in {**files, **change}.items() if text is not None}
    found = [o for o in rule(changed) if o.file == f"webui/{where}"]
    assert found and words in str(found[0]) and found[0].mend, found


def test_packages_that_npm_ci_would_refuse_are_found(files: Files) -> None:
    for words, said in (
        ({"resolved": "https://example.org/x.tgz"}, "names the host"),
        ({"optionalDependencies": {"nobody-has-it": "1"}}, "wants nobody-has-it, which is not there"),
    ):
        planted = {**files, "package-lock.json": lock_with(files, "node_modules/x", **words)}
        [offence] = rules_webui.packages(planted)
        assert said in offence.what
    planted = {**files, "package.json": json.dumps({"dependencies": {"react": "^19.0.0"}})}
    [offence] = rules_webui.packages(planted)
    assert "react: ^19.0.0 is a range" in offence.what
