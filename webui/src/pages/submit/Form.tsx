import { useId, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../api/session';
import { Said } from '../../ui/amounts';
import { CLASSES } from '../job/actions';
import { useLayout } from '../usage/queries';
import { countOf, readNames, readText, write, type Path } from './draft';
import { useSecretNames } from './queries';
import styles from './Submit.module.css';

export interface Wrong {
  field: Path;
  message: string;
  fix: string;
  isSaid?: boolean; // by the scheduler, in English
}

interface Props {
  text: string;
  set: (text: string) => void;
  wrong: Wrong | null;
}

// The fault that belongs to a field: of the field itself or of something in it.
function wrongOf(wrong: Wrong | null, path: Path): Wrong | null {
  return wrong && (wrong.field === path || wrong.field.startsWith(`${path}.`)) ? wrong : null;
}

interface FieldProps extends Props {
  path: Path;
  wide?: boolean;
  number?: boolean;
  lines?: number;
  placeholder?: string;
  options?: { value: string; label: string }[];
  why?: string; // what it is for, always shown
}

function Field({ path, text, set, wrong: any, wide, number, lines, placeholder, options, why }: FieldProps) {
  const { t } = useTranslation('submit');
  const id = useId();
  const wrong = wrongOf(any, path);
  const change = (value: string) => set(write(text, { [path]: value }));
  const all = {
    id,
    value: readText(text, path),
    'aria-invalid': wrong !== null,
    'aria-describedby': wrong || why ? `${id}why` : undefined,
    onChange: (event: { target: { value: string } }) => change(event.target.value),
  };
  let control: ReactNode;
  if (options) {
    control = (
      <select {...all}>
        <option value="">{t('default')}</option>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    );
  } else if (lines) {
    control = <textarea {...all} rows={lines} spellCheck={false} className={styles.code} />;
  } else {
    const kind = number ? { inputMode: 'numeric' as const } : {};
    control = <input {...all} {...kind} placeholder={placeholder} autoComplete="off" spellCheck={false} />;
  }
  return (
    <div className={wide ? styles.wide : undefined} data-field={path}>
      <label htmlFor={id}>{t(`fields.${path.replace('.', '_')}`)}</label>
      {control}
      {(wrong || why) && (
        <div id={`${id}why`} className={wrong ? styles.wrong : styles.why}>
          {wrong ? <WrongWords wrong={wrong} /> : why}
        </div>
      )}
    </div>
  );
}

function WrongWords({ wrong }: { wrong: Wrong }) {
  if (!wrong.isSaid) return `${wrong.message} ${wrong.fix}`;
  return <Said text={`${wrong.message}${wrong.fix ? `: ${wrong.fix}` : ''}`} />;
}

const plain = (value: string) => ({ value, label: value });
const LAUNCHERS = ['node', 'per-gpu'];

export function Form(props: Props) {
  const { t } = useTranslation('submit');
  const { teams } = useSession();
  const layout = useLayout().data;
  const classes = CLASSES.map((value) => ({ value, label: t(`common:classes.${value}`) }));
  if (countOf(props.text) > 1) return <p className={styles.form}>{t('several')}</p>;
  return (
    <form className={styles.form} aria-label={t('form')} onSubmit={(event) => event.preventDefault()}>
      <Field {...props} path="name" />
      <Field {...props} path="nodes" number placeholder="1" />
      <Field {...props} path="workdir" wide placeholder="/srv/home/me/project" why={t('workdirWhy')} />
      <Field {...props} path="run" wide lines={3} />
      <Field {...props} path="gpus_per_node" number placeholder="8" />
      <Field
        {...props}
        path="launcher"
        options={LAUNCHERS.map((value) => ({ value, label: t(`launchers.${value}`) }))}
      />
      <Field {...props} path="priority" options={classes} />
      <Field {...props} path="pool" options={(layout?.pools ?? []).map(({ name }) => plain(name))} />
      <Field {...props} path="team" options={teams.map(plain)} />
      <Field {...props} path="code" options={[{ value: 'snapshot', label: t('snapshot') }]} />
      <Field {...props} path="interrupt.grace" placeholder="60s" />
      <Field {...props} path="limits.time" placeholder="2d" />
      <Field {...props} path="checkpoint.every" placeholder="5m" />
      <Field {...props} path="checkpoint.dir" placeholder="/srv/ckpt/$GLIM_JOB_ID" />
      <Secrets {...props} />
      <p className={`${styles.wide} ${styles.why}`}>{t('more')}</p>
    </form>
  );
}

// By name: a task finds their values in files, and the page never does.
function Secrets({ text, set }: Props) {
  const { t } = useTranslation('submit');
  const mine = useSecretNames().data?.secrets ?? [];
  const chosen = readNames(text, 'secrets');
  if (mine.length === 0) return null;
  const toggle = (name: string) => {
    const names = chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name];
    set(write(text, { secrets: names }));
  };
  return (
    <fieldset className={styles.wide}>
      <legend>{t('secrets')}</legend>
      {mine.map(({ name }) => (
        <label key={name} className={styles.check}>
          <input type="checkbox" checked={chosen.includes(name)} onChange={() => toggle(name)} />{' '}
          <span data-name>{name}</span>
        </label>
      ))}
    </fieldset>
  );
}
