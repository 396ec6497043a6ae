"""Pages and manual pages of what help_text.py has read."""

import re

from .flow import fill, words_of

NOTE = "<!-- Written by docs/generate: change what it is made of, and run that again. -->"


def head(title, reader, intro):
    """The first lines of a page."""
    return [f"# {title}", "", f"*Reference, for {reader}.*", "", NOTE, "", *fill(words_of(intro), "", ""), ""]


def escape(text):
    """Of a table's cell."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def syntax(command):
    words = re.sub(r"\[OPTIONS\]", "[OPTION...]", command.usage.replace("SUBCOMMAND", "COMMAND ..."))
    return words


def names_of(option):
    return ", ".join(option.names) + (f" {option.takes}" if option.takes else "")


def section(command, level):
    title = " ".join(command.words.split()[1:]) or command.words
    lines = [f"{'#' * level} {title}", ""]
    about = sentence(command.about)
    if command.aliases:
        about += f" Also `{', '.join(command.aliases)}`."
    lines += [*fill(words_of(about), "", ""), "", "```text", syntax(command), "```", ""]
    rows = [(f"`{one.names[0]}`", one.help) for one in command.positionals]
    rows += [(f"`{names_of(one)}`", one.help) for one in command.options]
    if rows:
        lines += ["| argument | meaning |", "| --- | --- |"]
        lines += [f"| {escape(left)} | {escape(right)} |" for left, right in rows] + [""]
    if command.notes:
        lines += [*fill(words_of(command.notes.replace("\n", " ")), "", ""), ""]
    if command.examples:
        lines += ["```text", *command.examples, "```", ""]
    return lines


def sentence(text):
    return text if not text or text.endswith((".", "?", "!")) else text + "."


def markdown(title, reader, intro, commands):
    """One page of several programs' commands: those that only have commands below them are a heading and a list."""
    lines = head(title, reader, intro)
    for top in commands:
        groups = list(top.walk())
        if len(groups) > 1:
            lines += ["| command | does |", "| --- | --- |"]
            for one in groups[1:]:
                if not one.commands or one.examples:  # some have commands below them, and do something themselves
                    anchor = "-".join(one.words.split()[1:])
                    lines.append(f"| [`{one.words}`](#{anchor}) | {escape(sentence(one.about))} |")
            lines.append("")
        for one in groups:
            lines += section(one, 2)
    return "\n".join(lines).rstrip() + "\n"


def roff(text):
    """Words in a manual page: no line begins as a request does, a dash is a dash."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def manual(command, number, others):
    """A manual page in man(7): of a program with all its commands, as its --help says."""
    name = command.words.replace(" ", "-")
    about = command.about.partition(": ")[2] if command.about.startswith(f"{command.words}: ") else command.about
    lines = [
        '.\\" Written by docs/generate: change what it is made of, and run that again.',
        f'.TH {roff(name.upper())} {number} "" "Glim" "Glim\'s manual"',
        ".SH NAME",
        f"{roff(name)} \\- {roff(about.rstrip('.'))}",
        ".SH SYNOPSIS",
        *synopsis(command),
        ".SH DESCRIPTION",
        roff(sentence(command.about)),
    ]
    if command.notes:
        lines += [".PP", roff(command.notes)]
    if command.options or command.positionals:
        lines += [".SH OPTIONS", *arguments(command)]
    below = [one for one in command.walk() if one is not command]
    if below:
        lines.append(".SH COMMANDS")
    for one in below:
        title = " ".join(one.words.split()[1:]) + (f" ({', '.join(one.aliases)})" if one.aliases else "")
        lines += [f'.SS "{roff(title)}"', roff(sentence(one.about))]
        if one.commands:
            continue
        lines += [".PP", *synopsis(one), *arguments(one)]
        if one.examples:
            lines += [".PP", "Examples:", ".PP", ".RS 4", ".nf", *[roff(row) for row in one.examples], ".fi", ".RE"]
    if command.examples:
        lines += [".SH EXAMPLES", ".nf", *[roff(row) for row in command.examples], ".fi"]
    if others:
        rows = [f".BR {roff(other)} ({section})" for other, section in others]
        lines += [".SH SEE ALSO", *[row + " ," for row in rows[:-1]], rows[-1]]
    return "\n".join(lines) + "\n"


def synopsis(command):
    first, _, rest = syntax(command).partition(" [OPTION")
    return [f".B {roff(first)}", roff("[OPTION" + rest)] if rest else [f".B {roff(first)}"]


def arguments(command):
    lines = []
    for one in command.positionals + command.options:
        lines += [".TP", f".B {roff(names_of(one))}", roff(sentence(one.help)) or "\\&"]
    return lines
