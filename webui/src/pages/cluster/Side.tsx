// Beside the map: the node that is pointed at, who crosses the link between zones, and what operators have taken out.
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useEvents } from '../../live/hooks';
import { JobLink, NodeLink } from '../../shell/links';
import { Gpus, Said, Time } from '../../ui/amounts';
import { Badge } from '../../ui/Badge';
import { Explained } from '../../ui/Explained';
import { merged, sinceOf } from '../node/history';
import { useNodeEvents } from '../node/queries';
import { isOut, nodeStateOf, reservations, type Crossing, type Tile, type View } from './model';
import { usePointed, type Pointing } from './pointing';
import styles from './Side.module.css';

const OUT_SHOWN = 8;

export function Card({ view, pointing, isPast }: { view: View; pointing: Pointing; isPast: boolean }) {
  const { t } = useTranslation('cluster');
  const { hovered, focused } = usePointed(pointing);
  const index = useMemo(() => new Map(view.places.map(({ name }, at) => [name, at])), [view.places]);
  const tile = view.tiles[index.get(hovered || focused) ?? -1];
  return (
    <section className={styles.card} aria-label={t('pointed')} data-part="card">
      {tile ? <Node tile={tile} isPast={isPast} /> : <p className="weak">{t('pointWords')}</p>}
    </section>
  );
}

function Node({ tile, isPast }: { tile: Tile; isPast: boolean }) {
  const { t } = useTranslation('cluster');
  const { cordon, message, fault } = tile.node;
  return (
    <>
      <div className={styles.head}>
        <strong data-name>
          <NodeLink name={tile.name} />
        </strong>
        <Badge kind="nodeStates" state={nodeStateOf(tile.node)} />
      </div>
      <dl className={styles.facts}>
        <Fact name={t('where')}>
          <span data-name>{[tile.zone || '?', tile.leaf || '?', tile.pool].filter(Boolean).join(' · ')}</span>
        </Fact>
        <Fact name={t('gpus')}>
          {!isPast && tile.job !== null && `${tile.used} / `}
          <Gpus count={tile.gpus} simulated={tile.simulated} />
        </Fact>
        {tile.job !== null && (
          <Fact name={t('job')}>
            <JobLink id={tile.job} /> <span data-name>{tile.jobName}</span>
          </Fact>
        )}
        {tile.user && (
          <Fact name={t('user')}>
            <span data-name>{tile.user}</span>
            {tile.priority && `, ${t(`common:classes.${tile.priority}`)}`}
          </Fact>
        )}
        {tile.next !== null && (
          <Fact name={t('next')}>
            <JobLink id={tile.next} />
          </Fact>
        )}
      </dl>
      {cordon && <Taken cordon={cordon} />}
      {tile.reserved.map((words) => (
        <p key={words}>
          {t('reserved')}: <span data-name>{words}</span>
        </p>
      ))}
      {!cordon && (fault || message) && (
        <p>
          <Said text={fault || message} />
        </p>
      )}
    </>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

// Why, who, until when.
export function Taken({ cordon }: { cordon: NonNullable<Tile['node']['cordon']> }) {
  const { t } = useTranslation('cluster');
  return (
    <div className={styles.taken}>
      <span data-name>{cordon.reason}</span>
      <span className="weak">
        <span data-name>{cordon.by}</span>, <Time atMs={cordon.since_ms} />
        {cordon.until_ms > 0 && (
          <>
            {' · '}
            {t('until')} <Time atMs={cordon.until_ms} />
          </>
        )}
      </span>
    </div>
  );
}

// Jobs on both sides of the link: pointing at one lights its nodes.
export function Link({ crossings, zones, pointing }: { crossings: Crossing[]; zones: number; pointing: Pointing }) {
  const { t } = useTranslation('cluster');
  if (zones < 2) return null;
  const light = (job: string) => pointing.set({ job });
  return (
    <section aria-label={t('link')} data-part="link">
      <h2>
        <Explained words={t('linkWords')} command="glim admin policy">
          {t('link')}
        </Explained>
      </h2>
      {crossings.length === 0 && <p className="weak">{t('linkFree')}</p>}
      <ul className={styles.list}>
        {crossings.map(({ job, name, zones: sides }) => (
          <li
            key={String(job)}
            onMouseEnter={() => light(String(job))}
            onMouseLeave={() => light('')}
            onFocus={() => light(String(job))}
            onBlur={() => light('')}
          >
            <JobLink id={job} /> <span data-name>{name}</span>{' '}
            <span className="weak" data-name>
              {sides.map(([zone, nodes]) => `${zone} ${nodes}`).join(' + ')}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

// What is reserved: the corner of a tile.
export function Reserved({ tiles }: { tiles: readonly Tile[] }) {
  const { t } = useTranslation('cluster');
  const all = useMemo(() => reservations(tiles), [tiles]);
  if (all.length === 0) return null;
  return (
    <section aria-label={t('reservations')} data-part="reserved">
      <h2>{t('reservations')}</h2>
      <p className="weak">{t('reservedCorner')}</p>
      <ul className={styles.list}>
        {all.slice(0, OUT_SHOWN).map(([words, nodes]) => (
          <li key={words}>
            <span data-name>{words}</span> <span className="weak">{t('nodesOf', { count: nodes })}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

// Nodes that take no jobs, whoever is to blame: an operator with a reason, or what befell them, and since when.
export function Out({ tiles, isPast }: { tiles: readonly Tile[]; isPast: boolean }) {
  const { t } = useTranslation('cluster');
  const out = useMemo(() => tiles.filter(({ node, state }) => node.cordon || isOut(state)), [tiles]);
  if (out.length === 0) return null;
  return (
    <section aria-label={t('out')} data-part="out">
      <h2>{t('out')}</h2>
      <ul className={styles.list}>
        {out.slice(0, OUT_SHOWN).map(({ name, node }) => (
          <li key={name} data-node={name}>
            <span className={styles.head}>
              <span data-name>
                <NodeLink name={name} />
              </span>
              <Badge kind="nodeStates" state={nodeStateOf(node)} />
            </span>
            {node.cordon ? <Taken cordon={node.cordon} /> : <Befell node={node} isPast={isPast} />}
          </li>
        ))}
      </ul>
      {out.length > OUT_SHOWN && <p className="weak">{t('moreOut', { count: out.length - OUT_SHOWN })}</p>}
    </section>
  );
}

// Its own words, and since when: that is told by what happened to it.
function Befell({ node, isPast }: { node: Tile['node']; isPast: boolean }) {
  return (
    <div className={styles.taken}>
      {(node.fault || node.message) && <Said text={node.fault || node.message} />}
      {!isPast && <Since name={node.name} />}
    </div>
  );
}

function Since({ name }: { name: string }) {
  const { t } = useTranslation('cluster');
  const asked = useNodeEvents(name);
  const live = useEvents();
  const sinceMs = useMemo(() => sinceOf(merged(asked.data ?? [], live, name)), [asked.data, live, name]);
  if (sinceMs === 0) return null;
  return (
    <span className="weak">
      {t('since')} <Time atMs={sinceMs} />
    </span>
  );
}
