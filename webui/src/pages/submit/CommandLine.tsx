import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Command } from '../../ui/Explained';
import { applyCommand, commandOf, FILE_COMMAND, type Parsed } from './command';
import styles from './Submit.module.css';

// While it is typed it stays as it is typed; afterwards it is what the draft comes to.
export function CommandLine({ text, set }: { text: string; set: (text: string) => void }) {
  const { t } = useTranslation('submit');
  const [typed, setTyped] = useState<string | null>(null);
  const [wrong, setWrong] = useState('');
  const command = commandOf(text);
  const change = (line: string) => {
    setTyped(line);
    const parsed: Parsed = applyCommand(text, line);
    setWrong('wrong' in parsed ? parsed.wrong : '');
    if ('text' in parsed) set(parsed.text);
  };
  return (
    <div>
      <label className={styles.label} htmlFor="draft-command">
        {t('command')}
      </label>
      <textarea
        id="draft-command"
        className={styles.yaml}
        lang="en"
        rows={3}
        spellCheck={false}
        value={typed ?? command}
        aria-invalid={wrong !== ''}
        aria-describedby="draft-command-words"
        onChange={(event) => change(event.target.value)}
        onBlur={() => {
          setTyped(null);
          setWrong('');
        }}
      />
      <div id="draft-command-words" className={wrong ? styles.wrong : styles.why}>
        {wrong ? (
          <>
            {t('commandWrong')} <code>{wrong}</code>
          </>
        ) : (
          t(command === FILE_COMMAND ? 'commandFile' : 'commandWords')
        )}
      </div>
      <Command text={command} />
    </div>
  );
}
