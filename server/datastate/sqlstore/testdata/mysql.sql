-- the example
SELECT t0.`id`, t0.`title`, t0.`status`, (t0.`done` + 0), t0.`price`, t0.`ratio`, t0.`single`, t0.`made`, t0.`due`, t0.`rings`, t0.`raw`, t0.`items` FROM `data`.`lists` AS t0 WHERE ((t0.`status` = ?) AND (t0.`title` IN (?, ?, ?))) ORDER BY t0.`title`, t0.`made` DESC, t0.`id` LIMIT 10
  1: string active
  2: string milk
  3: string eggs
  4: string milk
SELECT count(*) FROM `data`.`lists` AS t0 WHERE ((t0.`status` = ?) AND (t0.`title` IN (?, ?, ?)))

-- all columns
SELECT t0.`id`, t0.`title`, t0.`status`, (t0.`done` + 0), t0.`price`, t0.`ratio`, t0.`single`, t0.`made`, t0.`due`, t0.`rings`, t0.`raw`, t0.`items` FROM `data`.`lists` AS t0 ORDER BY t0.`id` LIMIT 21
SELECT count(*) FROM `data`.`lists` AS t0

-- offset without limit
SELECT t0.`id`, t0.`list_id`, t0.`name`, t0.`n` FROM `data`.`items` AS t0 ORDER BY t0.`id` LIMIT 21 OFFSET 5
SELECT count(*) FROM `data`.`items` AS t0

-- every kind of literal
SELECT t0.`id` FROM `data`.`lists` AS t0 WHERE ((t0.`id` = ?) OR (t0.`id` > CAST(? AS DECIMAL(2,1))) OR (t0.`price` = CAST(? AS DECIMAL(4,2))) OR (t0.`ratio` < ?) OR (t0.`single` = ?) OR ((t0.`done` + 0) = ?) OR (t0.`made` >= CAST(? AS DATETIME(6))) OR (t0.`due` = CAST(? AS DATE)) OR (t0.`rings` = CAST(? AS TIME(6))) OR (t0.`raw` = UNHEX(?))) ORDER BY t0.`id` LIMIT 21
  1: int64 5
  2: string 1.5
  3: string 12.50
  4: float64 1
  5: float64 0.10000000149011612
  6: int64 1
  7: string 2026-01-02 03:04:05.000000
  8: string 2026-01-02
  9: string 10:30:00
  10: string 00ff
SELECT count(*) FROM `data`.`lists` AS t0 WHERE ((t0.`id` = ?) OR (t0.`id` > CAST(? AS DECIMAL(2,1))) OR (t0.`price` = CAST(? AS DECIMAL(4,2))) OR (t0.`ratio` < ?) OR (t0.`single` = ?) OR ((t0.`done` + 0) = ?) OR (t0.`made` >= CAST(? AS DATETIME(6))) OR (t0.`due` = CAST(? AS DATE)) OR (t0.`rings` = CAST(? AS TIME(6))) OR (t0.`raw` = UNHEX(?)))

-- nulls
SELECT t0.`id` FROM `data`.`lists` AS t0 WHERE ((t0.`status` IS NULL) AND (t0.`made` IS NOT NULL) AND (1 = 0)) ORDER BY t0.`status`, t0.`price` DESC, t0.`title` DESC, t0.`id` LIMIT 21
SELECT count(*) FROM `data`.`lists` AS t0 WHERE ((t0.`status` IS NULL) AND (t0.`made` IS NOT NULL) AND (1 = 0))

-- joins
SELECT t0.`title`, t1.`id`, t1.`name`, t1.`n` FROM `data`.`lists` AS t0 LEFT JOIN `data`.`items` AS t1 ON (t0.`id` = t1.`list_id`) ORDER BY t0.`id`, t1.`id` LIMIT 21
SELECT count(*) FROM `data`.`lists` AS t0 LEFT JOIN `data`.`items` AS t1 ON (t0.`id` = t1.`list_id`)

-- groups
SELECT t0.`list_id`, sum(t0.`n`), avg((t0.`n` + 0e0)), count(DISTINCT t0.`name`) FROM `data`.`items` AS t0 GROUP BY t0.`list_id` HAVING (sum(t0.`n`) > ?) ORDER BY sum(t0.`n`) DESC, t0.`list_id` LIMIT 21
  1: int64 2
SELECT count(*) FROM (SELECT 1 AS one FROM `data`.`items` AS t0 GROUP BY t0.`list_id` HAVING (sum(t0.`n`) > ?)) AS counted

-- exists
SELECT t0.`id` FROM `data`.`lists` AS t0 WHERE NOT EXISTS (SELECT 1 FROM `data`.`items` AS t1 WHERE ((t1.`list_id` = t0.`id`) AND (t1.`name` = ?))) ORDER BY t0.`id` LIMIT 21
  1: string one
SELECT count(*) FROM `data`.`lists` AS t0 WHERE NOT EXISTS (SELECT 1 FROM `data`.`items` AS t1 WHERE ((t1.`list_id` = t0.`id`) AND (t1.`name` = ?)))

-- calculation
SELECT ((t0.`n` + 0e0) / NULLIF((? + 0e0), 0)), ((t0.`n` + ?) * t0.`id`), ((t0.`n` + 0e0) * (? + 0e0)) FROM `data`.`items` AS t0 ORDER BY t0.`id` LIMIT 21
  1: int64 2
  2: int64 1
  3: float64 1.5
SELECT count(*) FROM `data`.`items` AS t0

