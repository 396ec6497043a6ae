import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { type ApiError, asApiError } from '../api/error';
import { signIn } from '../api/session';
import { LANGUAGES, setLanguage, type Language } from '../i18n/i18n';
import { Button } from '../ui/Button';
import { ErrorNote } from '../ui/ErrorNote';
import { Command } from '../ui/Explained';
import styles from './SignIn.module.css';

// The code of what was pasted: the whole address, or the code alone.
export function codeOf(text: string): string {
  return /(?:#code=)?([0-9a-fA-F]{16,})\s*$/.exec(text.trim())?.[1] ?? '';
}

export function SignIn({ error: first }: { error: ApiError | null }) {
  const { t, i18n } = useTranslation('common');
  const [text, setText] = useState('');
  const [error, setError] = useState<ApiError | null>(first);
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      await signIn(codeOf(text));
    } catch (thrown) {
      setError(asApiError(thrown));
      setText('');
    }
    setBusy(false);
  };
  return (
    <main className={styles.page}>
      <h1>
        <img src="/glim.svg" alt="" width={22} height={22} /> {t('signIn.title')}
      </h1>
      <p>{t('signIn.how')}</p>
      <Command text="glim login --web" />
      <p className="weak">{t('signIn.opens')}</p>
      <form onSubmit={(event) => void submit(event)} className={styles.form}>
        <label>
          {t('signIn.code')}
          <input
            value={text}
            onChange={(event) => setText(event.target.value)}
            autoComplete="off"
            spellCheck={false}
            autoFocus
          />
        </label>
        <Button type="submit" kind="main" disabled={busy || codeOf(text) === ''}>
          {t('signIn.go')}
        </Button>
      </form>
      {error && <ErrorNote error={error} />}
      <p className="weak">{t('signIn.noToken')}</p>
      <p>
        {Object.entries(LANGUAGES).map(([code, name]) => (
          <Button
            key={code}
            kind="quiet"
            lang={code}
            aria-pressed={code === i18n.language}
            onClick={() => setLanguage(code as Language)}
          >
            {name}
          </Button>
        ))}
      </p>
    </main>
  );
}
