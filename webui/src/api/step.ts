// A change is asked for twice: first what it would do, and then to be done as that was shown, or not at all
// (docs/http.md, `expect`).
export type Step = { dry_run: true } | { expect: string };

export const TRY: Step = { dry_run: true };

// To be done if what the answer tells of is still so.
export const doAsShown = (answer: { state: string } | null): Step => ({ expect: answer?.state ?? '' });

export const isDone = (step: Step): boolean => 'expect' in step;
