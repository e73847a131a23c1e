-- the example
SELECT t0."id", t0."title", t0."status", t0."done", t0."price", t0."ratio", t0."single", t0."made", t0."due", t0."rings"::text, t0."raw", t0."items"::text FROM "public"."lists" AS t0 WHERE ((t0."status" = $1::text) AND (t0."title" IN ($2::text, $3::text, $2::text))) ORDER BY t0."title", t0."made" DESC NULLS LAST, t0."id" LIMIT 10
  1: string active
  2: string milk
  3: string eggs
SELECT count(*) FROM "public"."lists" AS t0 WHERE ((t0."status" = $1::text) AND (t0."title" IN ($2::text, $3::text, $2::text)))

-- all columns
SELECT t0."id", t0."title", t0."status", t0."done", t0."price", t0."ratio", t0."single", t0."made", t0."due", t0."rings"::text, t0."raw", t0."items"::text FROM "public"."lists" AS t0 ORDER BY t0."id" LIMIT 21
SELECT count(*) FROM "public"."lists" AS t0

-- offset without limit
SELECT t0."id", t0."list_id", t0."name", t0."n" FROM "public"."items" AS t0 ORDER BY t0."id" LIMIT 21 OFFSET 5
SELECT count(*) FROM "public"."items" AS t0

-- every kind of literal
SELECT t0."id" FROM "public"."lists" AS t0 WHERE ((t0."id" = $1::int8) OR (t0."id" > $2::numeric) OR (t0."price" = $3::numeric) OR (t0."ratio" < $4::float8) OR (t0."single" = $5::float8) OR (t0."done" = $6::bool) OR (t0."made" >= $7::timestamptz) OR (t0."due" = $8::date) OR (t0."rings" = $9::time) OR (t0."raw" = $10::bytea)) ORDER BY t0."id" LIMIT 21
  1: int64 5
  2: string 1.5
  3: string 12.50
  4: float64 1
  5: float64 0.10000000149011612
  6: bool true
  7: time.Time 2026-01-02 03:04:05 +0000 UTC
  8: string 2026-01-02
  9: string 10:30:00
  10: []uint8 [0 255]
SELECT count(*) FROM "public"."lists" AS t0 WHERE ((t0."id" = $1::int8) OR (t0."id" > $2::numeric) OR (t0."price" = $3::numeric) OR (t0."ratio" < $4::float8) OR (t0."single" = $5::float8) OR (t0."done" = $6::bool) OR (t0."made" >= $7::timestamptz) OR (t0."due" = $8::date) OR (t0."rings" = $9::time) OR (t0."raw" = $10::bytea))

-- nulls
SELECT t0."id" FROM "public"."lists" AS t0 WHERE ((t0."status" IS NULL) AND (t0."made" IS NOT NULL) AND (1 = 0)) ORDER BY t0."status" NULLS FIRST, t0."price" DESC NULLS LAST, t0."title" DESC, t0."id" LIMIT 21
SELECT count(*) FROM "public"."lists" AS t0 WHERE ((t0."status" IS NULL) AND (t0."made" IS NOT NULL) AND (1 = 0))

-- joins
SELECT t0."title", t1."id", t1."name", t1."n" FROM "public"."lists" AS t0 LEFT JOIN "public"."items" AS t1 ON (t0."id" = t1."list_id") ORDER BY t0."id", t1."id" NULLS FIRST LIMIT 21
SELECT count(*) FROM "public"."lists" AS t0 LEFT JOIN "public"."items" AS t1 ON (t0."id" = t1."list_id")

-- groups
SELECT t0."list_id", sum(t0."n"), avg(t0."n"::float8), count(DISTINCT t0."name") FROM "public"."items" AS t0 GROUP BY t0."list_id" HAVING (sum(t0."n") > $1::int8) ORDER BY sum(t0."n") DESC NULLS LAST, t0."list_id" NULLS FIRST LIMIT 21
  1: int64 2
SELECT count(*) FROM (SELECT 1 AS one FROM "public"."items" AS t0 GROUP BY t0."list_id" HAVING (sum(t0."n") > $1::int8)) AS counted

-- exists
SELECT t0."id" FROM "public"."lists" AS t0 WHERE NOT EXISTS (SELECT 1 FROM "public"."items" AS t1 WHERE ((t1."list_id" = t0."id") AND (t1."name" = $1::text))) ORDER BY t0."id" LIMIT 21
  1: string one
SELECT count(*) FROM "public"."lists" AS t0 WHERE NOT EXISTS (SELECT 1 FROM "public"."items" AS t1 WHERE ((t1."list_id" = t0."id") AND (t1."name" = $1::text)))

-- calculation
SELECT (t0."n"::float8 / NULLIF($1::int8::float8, 0)), ((t0."n"::int8 + $2::int8::int8)::int8 * t0."id"::int8), (t0."n"::float8 * $3::float8::float8) FROM "public"."items" AS t0 ORDER BY t0."id" LIMIT 21
  1: int64 2
  2: int64 1
  3: float64 1.5
SELECT count(*) FROM "public"."items" AS t0

