import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Schemas } from '../../api/client';
import { doAsShown, TRY } from '../../api/step';
import { useQueue } from '../../live/hooks';
import { ActionDialog } from '../../ui/ActionDialog';
import { Said } from '../../ui/amounts';
import { boundedBy, quotaUses, type Quota } from '../usage/quotas';
import { useSettled } from '../submit/queries';
import styles from './Admin.module.css';
import { changeOf, commandOf, listOf, type Accounts, type FieldSpec, type Kind, type Values } from './kinds';
import { changeRows, putRow } from './queries';
import type { Asked } from './Rows';

interface Props {
  kind: Kind;
  asked: Asked;
  accounts: Accounts;
  onClose: () => void;
}

export function RowDialog({ kind, asked, accounts, onClose }: Props) {
  const { t } = useTranslation('admin');
  const [row, setRow] = useState<Values>(asked.row);
  const settled = useSettled(row);
  const remove = asked.what === 'remove';
  const isNamed = kind.fields.filter(({ key }) => key).every((field) => isGiven(field, settled));
  const preview = () => (isNamed ? changeRows(changeOf(kind, settled, remove), TRY) : Promise.resolve(null));
  return (
    <ActionDialog
      title={asked.what === 'add' ? t(`add.${kind.name}`) : t(`${asked.what}Of`, { name: kind.idOf(asked.row) })}
      verb={asked.what === 'add' ? t(`add.${kind.name}`) : t(asked.what)}
      preview={preview}
      previewKey={['rows', kind.name, remove, settled]}
      changes={(diff) => row === settled && (diff?.rows.length ?? 0) > 0}
      show={(diff) => (
        <>
          {diff ? <Diff rows={diff.rows} meaning={diff.meaning} /> : <p>{t('nameFirst')}</p>}
          {kind.name === 'quota' && diff && <Bounded quota={settled as unknown as Quota} accounts={accounts} />}
        </>
      )}
      act={(_, shown) => putRow(changeOf(kind, row, remove), doAsShown(shown))}
      reason="none"
      command={commandOf(kind, row, remove)}
      danger={remove}
      onClose={onClose}
    >
      {!remove && (
        <div className={styles.fields}>
          {kind.fields.map((field) => (
            <FieldInput
              key={field.name}
              field={field}
              value={row[field.name]}
              locked={field.key === true && asked.what === 'change'}
              set={(value) => setRow({ ...row, [field.name]: value })}
            />
          ))}
        </div>
      )}
    </ActionDialog>
  );
}

// A quota of everybody has no subject.
function isGiven(field: FieldSpec, row: Values): boolean {
  const isAlone = row.of === 'everybody' || row.of === 'default_user';
  return (field.name === 'subject' && isAlone) || Boolean(row[field.name]);
}

interface InputProps {
  field: FieldSpec;
  value: unknown;
  locked: boolean;
  set: (value: unknown) => void;
}

function FieldInput({ field, value, locked, set }: InputProps) {
  const { t } = useTranslation('admin');
  const words = Array.isArray(value) ? value.join(', ') : String(value ?? '');
  const label = t(`fields.${field.name}`);
  if (field.kind === 'check') {
    return (
      <label className={styles.check}>
        <input type="checkbox" checked={Boolean(value)} onChange={(event) => set(event.target.checked)} /> {label}
      </label>
    );
  }
  if (field.kind === 'select') {
    return (
      <label>
        {label}
        <select value={words} disabled={locked} onChange={(event) => set(event.target.value)}>
          {field.options?.map((option) => (
            <option key={option} value={option}>
              {wordOf(t, field.name, option)}
            </option>
          ))}
        </select>
      </label>
    );
  }
  return <TextInput field={field} words={words} label={label} locked={locked} set={set} />;
}

function wordOf(t: (key: string) => string, field: string, option: string): string {
  if (field === 'role') return t(`common:roles.${option}`);
  return field === 'of' ? t(`of.${option}`) : t(`common:classes.${option}`);
}

// A list stays as it is typed until it is left.
function TextInput({ field, words, label, locked, set }: Omit<InputProps, 'value'> & { words: string; label: string }) {
  const [typed, setTyped] = useState<string | null>(null);
  const change = (text: string) => {
    setTyped(text);
    if (field.kind === 'list') set(listOf(text));
    else if (field.kind === 'number') set(/^\d+$/.test(text) ? Number(text) : 0);
    else set(text);
  };
  return (
    <label>
      {label}
      <input
        value={typed ?? words}
        readOnly={locked}
        autoComplete="off"
        inputMode={field.kind === 'number' ? 'numeric' : undefined}
        onChange={(event) => change(event.target.value)}
        onBlur={() => setTyped(null)}
      />
    </label>
  );
}

export function Diff({ rows, meaning }: { rows: Schemas['RowDiff'][]; meaning: string }) {
  const { t } = useTranslation('admin');
  if (rows.length === 0) return <p>{t('noDiff')}</p>;
  return (
    <>
      {rows.map((one) => (
        <dl key={one.object} className={styles.diff} data-part="diff">
          <dt>
            <Said text={one.object} />
          </dt>
          <dd className={styles.before}>
            <span className="weak">{t('before')}</span> {one.before ? <Said text={one.before} /> : t('isNew')}
          </dd>
          <dd className={styles.after}>
            <span className="weak">{t('after')}</span> {one.after ? <Said text={one.after} /> : t('isGone')}
          </dd>
        </dl>
      ))}
      {meaning && (
        <p>
          <Said text={meaning} />
        </p>
      )}
    </>
  );
}

const NAMES_SHOWN = 12;

// Who the quota is about, and what they have of it now.
function Bounded({ quota, accounts }: { quota: Quota; accounts: Accounts }) {
  const { t } = useTranslation('admin');
  const { rows } = useQueue();
  const names = boundedBy(quota, accounts);
  const same = (other: Quota) => other.of === quota.of && other.subject === quota.subject;
  const others = accounts.quotas.filter((other) => !same(other));
  const use = quotaUses({ ...accounts, quotas: [...others, quota] }, rows).at(-1);
  return (
    <p data-part="bounded">
      {t('bounded')}{' '}
      <span data-name>
        {names.slice(0, NAMES_SHOWN).join(', ') || '–'}
        {names.length > NAMES_SHOWN && ' …'}
      </span>
      . {t('usedNow', { count: use?.nodes ?? 0 })} <span data-name>{use?.who && `(${use.who})`}</span>
    </p>
  );
}
