-- The scripts of goal reflections. Redis runs each script atomically.

-- name: common
-- Functions that the scripts share. Entries are never encoded again, so that fields of other programs survive.
local MAX_ENTRIES, MAX_RECENT = 3, 10
local MAX_TIMES, MAX_WITH_WORD = 1000, 1000

local function escaped(part)
  return (part:gsub('[%%:%*%?%[%]\\{}"%c ]', function(found)
    return string.format('%%%02X', found:byte())
  end))
end

local function objects_of(list)
  local found, depth, from, at = {}, 0, nil, 1
  while true do
    at = list:find('["{}%[%]]', at)
    if not at then
      return found
    end
    local mark = list:sub(at, at)
    if mark == '"' then
      repeat
        at = list:find('["\\]', at + 1)
        if not at then
          return found
        end
        local closed = list:sub(at, at) == '"'
        if not closed then
          at = at + 1
        end
      until closed
    elseif mark == '{' or mark == '[' then
      depth = depth + 1
      if depth == 2 and mark == '{' then
        from = at
      end
    else
      depth = depth - 1
      if depth == 1 and mark == '}' then
        found[#found + 1] = list:sub(from, at)
      end
    end
    at = at + 1
  end
end

local function text_of(value)
  return type(value) == 'string' and value or ''
end

-- Compares bytes: Lua's own comparison of strings depends on the locale of the Redis process.
local function is_after(one, other)
  for place = 1, math.min(#one, #other) do
    local mine, theirs = one:byte(place), other:byte(place)
    if mine ~= theirs then
      return mine > theirs
    end
  end
  return #one > #other
end

local function entries_of(key)
  local found = {}
  for _, raw in ipairs(objects_of(redis.call('GET', key) or '')) do
    local is_json, entry = pcall(cjson.decode, raw)
    if is_json and type(entry) == 'table' then
      found[#found + 1] = {raw = raw, id = text_of(entry.id), at = text_of(entry.created_at)}
    end
  end
  return found
end

local function lives_at_least(key, ttl_ms)
  if redis.call('PTTL', key) < ttl_ms then
    redis.call('PEXPIRE', key, ttl_ms)
  end
end

local function write_recent(recent_key, times_key, prefix, ttl_ms)
  local kept = {}
  for _, goal_id in ipairs(redis.call('ZREVRANGE', times_key, 0, -1)) do
    if #kept == MAX_RECENT then
      break
    end
    if redis.call('EXISTS', prefix .. escaped(goal_id)) == 1 then
      kept[#kept + 1] = goal_id
    else
      redis.call('ZREM', times_key, goal_id)
    end
  end
  local before_ms = redis.call('PTTL', recent_key)
  redis.call('DEL', recent_key)
  if #kept > 0 then
    redis.call('RPUSH', recent_key, unpack(kept))
    redis.call('PEXPIRE', recent_key, math.max(before_ms, ttl_ms))
  end
end

local function rises(key, goal_id, at_us)
  local before = redis.call('ZSCORE', key, goal_id)
  if not before or tonumber(before) < tonumber(at_us) then
    redis.call('ZADD', key, at_us, goal_id)
  end
end

-- name: put
-- Stores an entry unless it exists, was deleted or erased, or is older than three others. Keys: of_goal, recent_goals,
-- goal_times, deleted and erased of keys.py, then goals_with for each word of the objective. Arguments: the entry, its id, its created_at,
-- the same time in microseconds, the goal's id, the prefix of goal keys, and the entry's time to live in ms.
-- Returns 1 if the entry is new, else 0.
local raw, id, at, at_us, goal_id, prefix, ttl_ms = unpack(ARGV)
ttl_ms = tonumber(ttl_ms)
if tonumber(at_us) <= tonumber(redis.call('GET', KEYS[4]) or '-1') or redis.call('EXISTS', KEYS[5]) == 1 then
  return 0
end
local entries, is_new = entries_of(KEYS[1]), 1
for _, entry in ipairs(entries) do
  if entry.id == id then
    if entry.at ~= at then
      return 0 -- the stored entry has another time, so the goal's time and words must not change
    end
    is_new = 0
  end
end
if is_new == 1 then
  entries[#entries + 1] = {raw = raw, id = id, at = at}
  table.sort(entries, function(one, other)
    if one.at == other.at then
      return is_after(one.id, other.id)
    end
    return is_after(one.at, other.at)
  end)
  local kept = {}
  for place = 1, math.min(#entries, MAX_ENTRIES) do
    kept[place] = entries[place]
  end
  local raws, is_kept = {}, false
  for place, entry in ipairs(kept) do
    raws[place] = entry.raw
    is_kept = is_kept or entry.id == id
  end
  if not is_kept then
    return 0
  end
  local before_ms = redis.call('PTTL', KEYS[1])
  redis.call('SET', KEYS[1], '[' .. table.concat(raws, ', ') .. ']', 'PX', math.max(before_ms, ttl_ms))
end
-- Runs for an existing entry too: Redis may have evicted one of these derived keys.
rises(KEYS[3], goal_id, at_us)
redis.call('ZREMRANGEBYRANK', KEYS[3], 0, -MAX_TIMES - 1)
lives_at_least(KEYS[3], ttl_ms)
write_recent(KEYS[2], KEYS[3], prefix, ttl_ms)
for place = 6, #KEYS do
  rises(KEYS[place], goal_id, at_us)
  redis.call('ZREMRANGEBYRANK', KEYS[place], 0, -MAX_WITH_WORD - 1)
  lives_at_least(KEYS[place], ttl_ms)
end
return is_new

-- name: delete
-- Removes a goal's entries. For a while, entries created before the deletion are refused. Keys: as for put. Arguments:
-- the time of the deletion in microseconds, the goal's id, the prefix of goal keys, and for how many ms entries are
-- refused. Returns how many entries were removed.
local now_us, goal_id, prefix, refused_ms = unpack(ARGV)
local count = #entries_of(KEYS[1])
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[4], now_us, 'PX', refused_ms)
redis.call('ZREM', KEYS[3], goal_id)
for place = 6, #KEYS do
  redis.call('ZREM', KEYS[place], goal_id)
end
write_recent(KEYS[2], KEYS[3], prefix, 0)
return count

-- name: remove
-- Removes one entry of a goal, and refuses it for a while. Keys: as for put, with all words of the scope that no other
-- entry of the goal has. Arguments: the entry's id, the goal's id, the prefix of goal keys, and for how many ms the entry is refused. Returns 1
-- if it was there.
local id, goal_id, prefix, refused_ms = unpack(ARGV)
redis.call('SET', KEYS[5], 1, 'PX', refused_ms)
local raws, was_there = {}, 0
for _, entry in ipairs(entries_of(KEYS[1])) do
  if entry.id == id then
    was_there = 1
  else
    raws[#raws + 1] = entry.raw
  end
end
-- An entry that was trimmed away has words in the index all the same.
for place = 6, #KEYS do
  redis.call('ZREM', KEYS[place], goal_id)
end
if was_there == 0 then
  return 0
end
if #raws > 0 then
  redis.call('SET', KEYS[1], '[' .. table.concat(raws, ', ') .. ']', 'PX', redis.call('PTTL', KEYS[1]))
else
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[3], goal_id)
end
write_recent(KEYS[2], KEYS[3], prefix, 0)
return 1

-- name: with_words
-- The ids of goals that share words, most words first, then newest. Keys: goals_with of each word. Argument: the limit.
local counts, times, found = {}, {}, {}
for _, key in ipairs(KEYS) do
  local members = redis.call('ZREVRANGE', key, 0, -1, 'WITHSCORES')
  for place = 1, #members, 2 do
    local goal_id = members[place]
    if not counts[goal_id] then
      counts[goal_id], times[goal_id] = 0, 0
      found[#found + 1] = goal_id
    end
    counts[goal_id] = counts[goal_id] + 1
    times[goal_id] = math.max(times[goal_id], tonumber(members[place + 1]))
  end
end
table.sort(found, function(one, other)
  if counts[one] ~= counts[other] then
    return counts[one] > counts[other]
  end
  if times[one] ~= times[other] then
    return times[one] > times[other]
  end
  return is_after(one, other)
end)
local limit = tonumber(ARGV[1])
for place = #found, limit + 1, -1 do
  found[place] = nil
end
return found
