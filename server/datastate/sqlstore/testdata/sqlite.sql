-- the example
SELECT t0."id", t0."title", t0."status", t0."done", t0."price", t0."ratio", t0."single", t0."made", t0."due", t0."rings", t0."raw", t0."items" FROM "main"."lists" AS t0 WHERE ((t0."status" = ?1) AND (t0."title" IN (?2, ?3, ?2))) ORDER BY t0."title", chatwright_time(t0."made") DESC, t0."id" LIMIT 10
  1: string active
  2: string milk
  3: string eggs
SELECT count(*) FROM "main"."lists" AS t0 WHERE ((t0."status" = ?1) AND (t0."title" IN (?2, ?3, ?2)))

-- all columns
SELECT t0."id", t0."title", t0."status", t0."done", t0."price", t0."ratio", t0."single", t0."made", t0."due", t0."rings", t0."raw", t0."items" FROM "main"."lists" AS t0 ORDER BY t0."id" LIMIT 21
SELECT count(*) FROM "main"."lists" AS t0

-- offset without limit
SELECT t0."id", t0."list_id", t0."name", t0."n" FROM "main"."items" AS t0 ORDER BY t0."id" LIMIT 21 OFFSET 5
SELECT count(*) FROM "main"."items" AS t0

-- every kind of literal
SELECT t0."id" FROM "main"."lists" AS t0 WHERE ((t0."id" = ?1) OR (t0."id" > ?2) OR (t0."price" = ?3) OR (t0."ratio" < ?4) OR (t0."single" = ?5) OR (CASE typeof(t0."done") WHEN 'text' THEN CASE lower(t0."done") WHEN 'true' THEN 1 WHEN 't' THEN 1 WHEN '1' THEN 1 WHEN 'false' THEN 0 WHEN 'f' THEN 0 WHEN '0' THEN 0 ELSE t0."done" END ELSE t0."done" END = ?6) OR (chatwright_time(t0."made") >= ?7) OR (chatwright_date(t0."due") = ?8) OR (t0."rings" = ?9) OR (t0."raw" = ?10)) ORDER BY t0."id" LIMIT 21
  1: int64 5
  2: float64 1.5
  3: float64 12.5
  4: float64 1
  5: float64 0.1
  6: int64 1
  7: string 2026-01-02T03:04:05.000000000Z
  8: string 2026-01-02
  9: string 10:30:00
  10: []uint8 [0 255]
SELECT count(*) FROM "main"."lists" AS t0 WHERE ((t0."id" = ?1) OR (t0."id" > ?2) OR (t0."price" = ?3) OR (t0."ratio" < ?4) OR (t0."single" = ?5) OR (CASE typeof(t0."done") WHEN 'text' THEN CASE lower(t0."done") WHEN 'true' THEN 1 WHEN 't' THEN 1 WHEN '1' THEN 1 WHEN 'false' THEN 0 WHEN 'f' THEN 0 WHEN '0' THEN 0 ELSE t0."done" END ELSE t0."done" END = ?6) OR (chatwright_time(t0."made") >= ?7) OR (chatwright_date(t0."due") = ?8) OR (t0."rings" = ?9) OR (t0."raw" = ?10))

-- nulls
SELECT t0."id" FROM "main"."lists" AS t0 WHERE ((t0."status" IS NULL) AND (t0."made" IS NOT NULL) AND (1 = 0)) ORDER BY t0."status", t0."price" DESC, t0."title" DESC, t0."id" LIMIT 21
SELECT count(*) FROM "main"."lists" AS t0 WHERE ((t0."status" IS NULL) AND (t0."made" IS NOT NULL) AND (1 = 0))

-- joins
SELECT t0."title", t1."id", t1."name", t1."n" FROM "main"."lists" AS t0 LEFT JOIN "main"."items" AS t1 ON (t0."id" = t1."list_id") ORDER BY t0."id", t1."id" LIMIT 21
SELECT count(*) FROM "main"."lists" AS t0 LEFT JOIN "main"."items" AS t1 ON (t0."id" = t1."list_id")

-- groups
SELECT t0."list_id", sum(t0."n"), avg(t0."n"), count(DISTINCT t0."name") FROM "main"."items" AS t0 GROUP BY t0."list_id" HAVING (sum(t0."n") > ?1) ORDER BY sum(t0."n") DESC, t0."list_id" LIMIT 21
  1: int64 2
SELECT count(*) FROM (SELECT 1 AS one FROM "main"."items" AS t0 GROUP BY t0."list_id" HAVING (sum(t0."n") > ?1)) AS counted

-- exists
SELECT t0."id" FROM "main"."lists" AS t0 WHERE NOT EXISTS (SELECT 1 FROM "main"."items" AS t1 WHERE ((t1."list_id" = t0."id") AND (t1."name" = ?1))) ORDER BY t0."id" LIMIT 21
  1: string one
SELECT count(*) FROM "main"."lists" AS t0 WHERE NOT EXISTS (SELECT 1 FROM "main"."items" AS t1 WHERE ((t1."list_id" = t0."id") AND (t1."name" = ?1)))

-- calculation
SELECT (CAST(t0."n" AS REAL) / NULLIF(CAST(?1 AS REAL), 0)), ((t0."n" + ?2) * t0."id"), (CAST(t0."n" AS REAL) * CAST(?3 AS REAL)) FROM "main"."items" AS t0 ORDER BY t0."id" LIMIT 21
  1: int64 2
  2: int64 1
  3: float64 1.5
SELECT count(*) FROM "main"."items" AS t0

