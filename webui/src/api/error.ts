// What went wrong with a request: the scheduler's own words, or ours if it could not be asked.
export interface ErrorWords {
  code: string;
  reason: string;
  message: string;
  field: string;
  fix: string;
}

export class ApiError extends Error implements ErrorWords {
  readonly code: string;
  readonly reason: string;
  readonly field: string;
  readonly fix: string;

  constructor(
    readonly status: number,
    words: Partial<ErrorWords>,
  ) {
    super(words.message ?? '');
    this.name = 'ApiError';
    this.code = words.code ?? '';
    this.reason = words.reason ?? '';
    this.field = words.field ?? '';
    this.fix = words.fix ?? '';
  }

  get isSignedOut(): boolean {
    return this.status === 401;
  }
  get isForbidden(): boolean {
    return this.status === 403;
  }
  get isMissing(): boolean {
    return this.status === 404;
  }
  // Nobody answered; asking again may help.
  get isUnreachable(): boolean {
    return this.status === 0 || this.status === 503 || this.status === 504;
  }
}

export function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new ApiError(0, { code: 'UNAVAILABLE', reason: 'NO_ANSWER', message });
}

// The error in a body of the API; a body that is none of its documents is told by its status alone.
export function errorOf(status: number, body: unknown): ApiError {
  const words = (body as { error?: Partial<ErrorWords> } | undefined)?.error;
  return new ApiError(status, words ?? { reason: 'NO_DOCUMENT', message: `HTTP ${status}` });
}
