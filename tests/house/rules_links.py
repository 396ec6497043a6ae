"""What CMake links is what the sources include: every library names its links, and no more."""

from collections import defaultdict
from collections.abc import Iterator

from cmake_reader import Reader, Target
from floor_plan import FloorPlan
from rules_names import named_sources
from source_tree import Include, Offence, SourceFile, Tree, circles

EVERY_TESTS_LINKS = ("GTest::gtest", "GTest::gmock", "GTest::gtest_main")  # glim_test adds them


class Links:
    """Whose header is whose, and what each target reaches."""

    def __init__(self, tree: Tree, plan: FloorPlan):
        self.tree = tree
        self.targets = Reader(tree).targets
        borrows = plan.table["apart"]
        self.owners: dict[str, set[str]] = defaultdict(set)  # header -> libraries
        in_folder: dict[str, set[str]] = defaultdict(set)
        for target in self.targets.values():
            if target.kind != "library" or target.name in borrows:
                continue
            if not target.sources:
                in_folder[target.folder].add(target.name)  # header only
            for source in target.sources:
                in_folder[source.rpartition("/")[0]].add(target.name)
                self.owners[source.removesuffix(".cc") + ".h"].add(target.name)
        for file in tree.cpp:
            for name in named_sources(file):
                for target in self.targets.values():
                    if f"{file.folder}/{name}" in target.sources and target.kind == "library":
                        self.owners[file.path].add(target.name)
        for file in tree.cpp:
            if file.name.endswith(".h") and not self.owners.get(file.path):
                self.owners[file.path] = in_folder.get(file.folder, set())

    def reached(self, target: Target) -> set[str]:
        found: set[str] = set()
        pending = list(target.links)
        while pending:
            link = pending.pop()
            if link not in found:
                found.add(link)
                pending += self.targets[link].links if link in self.targets else []
        return found

    def files(self, target: Target) -> list[SourceFile]:
        """The target's sources, the headers of their names, and those that no library owns or that have no source."""
        pending = [p for source in target.sources for p in (source, source.removesuffix(".cc") + ".h")]
        found: dict[str, SourceFile] = {}
        while pending:
            path = pending.pop()
            file = self.tree.files.get(path)
            if file is None or path in found:
                continue
            found[path] = file
            for include in file.includes:
                header = self.tree.files.get(include.name)
                if header and (not self.owners.get(header.path) or self.is_bare(header, target)):
                    pending.append(header.path)
        return list(found.values())

    def is_bare(self, header: SourceFile, target: Target) -> bool:
        """A header of the target's own folder without a source: it is compiled with whoever includes it."""
        inside = header.folder == target.folder or header.folder.startswith(target.folder + "/")
        return inside and target.name in self.owners[header.path] and header.unit + ".cc" not in self.tree.files

    def includes(self, target: Target) -> Iterator[tuple[SourceFile, Include]]:
        files = self.files(target)
        own = {file.path for file in files}
        for file in files:
            for include in file.includes:
                if include.name not in own:
                    yield file, include


def sources(tree: Tree, plan: FloorPlan) -> Iterator[Offence]:
    """A target's sources lie in its own folder or below; every source is in a target."""
    links = Links(tree, plan)
    built = {source for target in links.targets.values() for source in target.sources}
    for target in links.targets.values():
        for source in target.sources:
            inside = source.startswith(target.folder + "/") or not target.folder
            if not inside and target.name not in plan.table["apart"]:
                mend = "link the library that owns it"
                yield Offence("sources", target.path, target.line, f"{target.name} compiles {source}, another's", mend)
            if source not in tree.files and not source.endswith(".proto"):
                mend = "correct the name"
                yield Offence("sources", target.path, target.line, f"{target.name} names {source}, not there", mend)
    for file in tree.cpp:
        if file.name.endswith(".cc") and file.path not in built and not file.name.endswith("_fuzz.cc"):
            if not file.path.startswith("cmake/"):
                yield Offence("sources", file.path, 1, "is part of no target", "name it in its folder's CMakeLists.txt")


def missing(tree: Tree, plan: FloorPlan) -> Iterator[Offence]:
    """Whatever a target's sources include is linked, by the target or by what it links."""
    links = Links(tree, plan)
    for target in links.targets.values():
        if target.name in plan.table["apart"]:
            continue
        reached = links.reached(target) | {target.name}
        reached |= set(EVERY_TESTS_LINKS) if target.kind == "test" else set()
        said: set[str] = set()
        for file, include in links.includes(target):
            wanted = _wanted(links, plan, include)
            if target.kind == "module" and "pybind11::module" in wanted:
                continue  # pybind11_add_module links it
            if wanted and not set(wanted) & reached and wanted[0] not in said:
                said.add(wanted[0])
                what = f"{target.name} does not link {' or '.join(wanted)}, whose {include.name} it includes"
                mend = f"add {wanted[0]} to the LINKS of {target.name} in {target.path}:{target.line}"
                yield Offence("links", file.path, include.line, what, mend)


def _wanted(links: Links, plan: FloorPlan, include: Include) -> list[str]:
    if include.name in plan.table["declarations"]:
        return []
    if include.name in links.tree.files:
        return sorted(links.owners.get(include.name, ()))
    library = plan.library_of(include.name)
    return list(plan.table["library"][library]["links"]) if library else []


def needless(tree: Tree, plan: FloorPlan) -> Iterator[Offence]:
    """Whatever a target links, one of its sources includes."""
    links = Links(tree, plan)
    system = set(plan.table["system"]["links"])
    for target in links.targets.values():
        if target.name in plan.table["apart"] or target.folder == "proto" or not target.sources:
            continue
        used = {name for _, include in links.includes(target) for name in _wanted(links, plan, include)}
        for link in target.links:
            alias = links.targets.get(link)
            if alias and alias.kind == "alias" and set(alias.links) & used:
                continue
            if link not in used and link not in system and link not in EVERY_TESTS_LINKS:
                what = f"{target.name} links {link}, of which it includes nothing"
                yield Offence("links", target.path, target.line, what, f"take {link} out of its LINKS")


def circles_of_libraries(tree: Tree, plan: FloorPlan) -> Iterator[Offence]:
    targets = Links(tree, plan).targets
    for circle in circles({name: set(target.links) & set(targets) for name, target in targets.items()}):
        first = targets[circle[0]]
        what = f"these libraries form a circle: {' '.join(circle)}"
        yield Offence("circle", first.path, first.line, what, "move what both need into a third")


RULES = (sources, missing, needless, circles_of_libraries)
