// RUN: gantry-opt %s -split-input-file -verify-diagnostics

plan.func @names inputs [] outputs [] {
  %x = plan.input 0 size 16
  %y = plan.output 0 size 16
  // expected-error@+1 {{'plan.copy' op copies 2 values and has the names of 1}}
  plan.copy %x, %x to %y, %y on @d1 "x" at ""
}

// -----

plan.func @entries inputs [] outputs [] {
  %x = plan.input 0 size 16
  %y = plan.output 0 size 16
  // expected-error@+1 {{'plan.copy' op attribute 'also' failed to satisfy constraint: names of further values}}
  plan.copy %x, %x to %y, %y on @d1 "x" at "" also [{location = "", name = "y"}]
}

// -----

plan.func @nothing inputs [] outputs [] {
  // expected-error@+1 {{'plan.copy' op copies nothing}}
  "plan.copy"() {device = @d1, location = "", name = "x"} : () -> ()
}

// -----

plan.func @part inputs [] outputs [] {
  // expected-error@+1 {{'plan.part' op brings nothing and gets nothing}}
  plan.part 0 of @x0 on @d0 "x" at ""
}
