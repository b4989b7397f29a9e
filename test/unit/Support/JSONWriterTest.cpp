// What is written must be JSON, whatever the texts in it.
#include "gantry/Support/JSONWriter.h"

#include <cmath>
#include <gtest/gtest.h>

using gantry::JSONWriter;

TEST(JSONWriter, PutsCommasWhereTheyBelong) {
  JSONWriter json;
  json.beginObject().member("a", uint64_t(1)).key("b").beginArray();
  json.value("x").value(int64_t(-2)).beginObject().endObject().boolean(true).endArray();
  json.member("c", 0.5).endObject();
  EXPECT_EQ(json.text(), R"({"a":1,"b":["x",-2,{},true],"c":0.5})");
}

TEST(JSONWriter, EscapesWhatStringsMayNotHold) {
  JSONWriter json;
  json.value("a \"quote\", a \\ and\na line");
  EXPECT_EQ(json.text(), R"("a \"quote\", a \\ and\u000aa line")");
}

TEST(JSONWriter, NumbersComeBackAsTheyWere) {
  JSONWriter json;
  json.beginArray().value(UINT64_MAX).value(0.1).value(INFINITY).value(NAN).endArray();
  EXPECT_EQ(json.text(), "[18446744073709551615,0.1,null,null]");
}
