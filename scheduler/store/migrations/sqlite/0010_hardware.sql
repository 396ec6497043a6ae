-- What reports on hardware are made of (contract/hardware_history.h): few of a year's entries. The question repeats
-- this condition word for word.
CREATE INDEX history_hardware ON history (seq) WHERE (
  kind IN ('health_event', 'health_condition', 'node_lost', 'node_registered', 'node_removed', 'node_cordoned',
  'node_uncordoned')
  OR kind = 'attempt_ended' AND (
    instr(facts, '"node_failure"') > 0
    OR instr(facts, '"gpu_failure"') > 0
    OR instr(facts, '"network"') > 0
    OR instr(facts, '"hang"') > 0
    OR instr(facts, '"out_of_memory"') > 0));
