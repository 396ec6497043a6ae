"""Who includes whom: rooms, their order, circles, tests' helpers, libraries of others."""

from collections import defaultdict
from collections.abc import Iterator

from floor_plan import EVERY_TESTS, EVERYONES, FloorPlan
from source_tree import Include, Offence, SourceFile, Tree, circles

TABLE = "tests/house/layers.toml"


def rooms_of_the_table(tree: Tree, plan: FloorPlan) -> Iterator[Offence]:
    """Every folder with C++ sources is a room, and every room has such; a room uses only what stands above it."""
    used = {plan.room_of(file) for file in tree.cpp}
    first = {plan.room_of(file): file.path for file in reversed(tree.cpp)}
    for room in sorted(used - set(plan.rooms)):
        mend = f'give it a [room."{room}"] in {TABLE}, below the rooms that it uses, or move the file into a room'
        yield Offence("room", first[room], 1, f"folder {room} is no room of the house", mend)
    for room in sorted(set(plan.rooms) - used):
        yield Offence("room", TABLE, 1, f"room {room} has no C++ source", "take the room out of the table")
    for room in plan.rooms.values():
        for other in room.uses:
            base = plan.base_of(other)
            if base not in plan.rooms:
                yield Offence("room", TABLE, 1, f"{room.name} uses {other}, which is no room", "correct the name")
            elif plan.rooms[base].order >= room.order:
                mend = "rooms use only what stands above them: move one of the two rooms, or the code that needs it"
                yield Offence("room", TABLE, 1, f"{room.name} uses {other}, which stands below it", mend)


def _allowed(file: SourceFile, other: SourceFile, plan: FloorPlan) -> bool:
    mine, theirs = plan.room_of(file), plan.room_of(other)
    room = plan.rooms[mine]
    if mine == theirs or other.folder == EVERYONES:
        return True
    if not file.is_testing:
        return other.folder in room.uses
    extra = {plan.base_of(name) for name in room.tests if not name.endswith("/testing")}
    if theirs in plan.reached(mine) or theirs in extra or theirs == EVERYONES:
        return True
    return other.folder in room.tests


def edges(tree: Tree, plan: FloorPlan) -> Iterator[Offence]:
    """An include leads to a room that the table allows; never from production code to what is for tests."""
    for file in tree.cpp:
        room = plan.room_of(file)
        if room not in plan.rooms:
            continue
        for include in file.includes:
            other = tree.files.get(include.name)
            if other is None or plan.room_of(other) not in plan.rooms:
                continue
            for_tests = other.is_testing and other.folder not in plan.rooms[room].uses
            if for_tests and not file.is_testing and other.folder != file.folder:
                mend = "move what both need into a file that is not for tests"
                yield _include(file, include, "testing", f"production code includes {include.name}, a test's", mend)
            elif other.is_test:
                yield _include(file, include, "testing", f"includes the test {include.name}", "include its header")
            elif not _allowed(file, other, plan):
                yield _include(file, include, "layers", *_upward(file, other, plan))


def _upward(file: SourceFile, other: SourceFile, plan: FloorPlan) -> tuple[str, str]:
    mine, theirs = plan.room_of(file), plan.room_of(other)
    what = f"{'a test of ' if file.is_testing else ''}{mine} may not use {other.folder} ({other.path})"
    if plan.rooms[theirs].order > plan.rooms[mine].order and not file.is_testing:
        return what, f"{theirs} stands above {mine}: let it hand down what is needed, or move that into {mine} or below"
    key = "tests" if file.is_testing else "uses"
    return what, f'include less; or, if the design wants it, add "{other.folder}" to {key} of {mine} in {TABLE}'


def _include(file: SourceFile, include: Include, rule: str, what: str, mend: str) -> Offence:
    return Offence(rule, file.path, include.line, what, mend)


def needless_permissions(tree: Tree, plan: FloorPlan) -> Iterator[Offence]:
    """The table allows nothing that no include needs."""
    needs: dict[str, set[str]] = defaultdict(set)
    tests_need: dict[str, set[str]] = defaultdict(set)
    for file in tree.cpp:
        into = tests_need if file.is_testing else needs
        for include in file.includes:
            other = tree.files.get(include.name)
            library = plan.library_of(include.name)
            into[plan.room_of(file)] |= {other.folder} if other else {library} if library else set()
    for room in plan.rooms.values():
        for key, named, needed in (
            ("uses", room.uses, needs),
            ("libraries", room.libraries, needs),
            ("tests", room.tests, tests_need),
        ):
            for name in named:
                if name not in needed[room.name]:
                    what = f"{key} of room {room.name} names {name}, which nothing there includes"
                    yield Offence("permission", TABLE, 1, what, "take it out of the table")


def circles_of_rooms(tree: Tree, plan: FloorPlan) -> Iterator[Offence]:
    graph: dict[str, set[str]] = defaultdict(set)
    for file in tree.cpp:
        if not file.is_testing:
            others = [tree.files[i.name] for i in file.includes if i.name in tree.files]
            graph[plan.room_of(file)] |= {plan.room_of(other) for other in others} - {plan.room_of(file)}
    for circle in circles(graph):
        mend = "cut the include that leads up"
        yield Offence("circle", circle[0], 1, f"these rooms form a circle: {' '.join(circle)}", mend)


def circles_of_units(tree: Tree, plan: FloorPlan) -> Iterator[Offence]:
    """A unit is a header with the source of its name."""
    graph: dict[str, set[str]] = defaultdict(set)
    line: dict[tuple[str, str], tuple[str, int]] = {}
    for file in tree.cpp:
        for include in file.includes:
            other = tree.files.get(include.name)
            if other and other.unit != file.unit:
                graph[file.unit].add(other.unit)
                line.setdefault((file.unit, other.unit), (file.path, include.line))
    for circle in circles(graph):
        inside = [(a, b) for a in circle for b in sorted(graph[a]) if b in circle]
        path, number = line[inside[0]]
        arrows = ", ".join(f"{'%s:%d' % line[edge]} -> {edge[1]}" for edge in inside)
        mend = f"one of these includes must go: {arrows}"
        yield Offence("circle", path, number, f"these units form a circle: {' '.join(circle)}", mend)


def libraries(tree: Tree, plan: FloorPlan) -> Iterator[Offence]:
    """A header is of the tree, the C++ library, the system, or of a library that the room may use."""
    for file in tree.cpp:
        room = plan.rooms.get(plan.room_of(file))
        for include in file.includes:
            if room is None or include.name in tree.files:
                continue
            library = plan.library_of(include.name)
            if library is None:
                if not plan.is_system(include.name):
                    mend = f"correct the name; a header of another library goes into [library] of {TABLE}"
                    yield _include(file, include, "library", f"{include.name} is no header that the house knows", mend)
                continue
            reached = set(room.libraries)
            if file.is_testing:
                reached |= {*EVERY_TESTS, *room.tests}
            if library not in reached:
                key = "tests" if file.is_testing else "libraries"
                what = f"{room.name} may not use {library} ({include.name})"
                mend = f'put the code where {library} is at home; or add "{library}" to {key} of the room in {TABLE}'
                yield _include(file, include, "library", what, mend)


RULES = (
    rooms_of_the_table,
    edges,
    needless_permissions,
    circles_of_rooms,
    circles_of_units,
    libraries,
)
