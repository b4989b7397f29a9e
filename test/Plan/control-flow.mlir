// Branches, loops and calls from end to end; several functions share one plan.

// RUN: gantry compile %s -o %t.gantry

// RUN: gantry run %t.gantry --function choose --fill c=ones --fill x=ramp 2>/dev/null | FileCheck %s --check-prefix=THEN
// RUN: gantry run %t.gantry --function choose --fill c=zeros --fill x=ramp 2>/dev/null | FileCheck %s --check-prefix=ELSE
// THEN: y: f32[4] on CPU:0
// THEN-NEXT: [-0. -1. -2. -3.]
// ELSE: y: f32[4] on CPU:0
// ELSE-NEXT: [0. 1. 2. 3.]
func.func @choose(%c: tensor<i1> {gantry.name = "c"}, %x: tensor<4xf32> {gantry.name = "x"})
    -> (tensor<4xf32> {gantry.name = "y"}) {
  %y = gantry.if %c -> (tensor<4xf32>) {
    %0 = gantry.neg %x : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %0 : tensor<4xf32>
  } else {
    gantry.yield %x : tensor<4xf32>
  } : tensor<i1>
  return %y : tensor<4xf32>
}

// A loop that runs ten times, and not at all.
// RUN: gantry run %t.gantry --function power --fill n=randint:10:11 2>/dev/null | FileCheck %s --check-prefix=TEN
// RUN: gantry run %t.gantry --function power --fill n=zeros 2>/dev/null | FileCheck %s --check-prefix=NONE
// TEN: p: i64[] on CPU:0
// TEN-NEXT: {{^}}1024{{$}}
// TEN-NEXT: i: i64[] on CPU:0
// TEN-NEXT: {{^}}10{{$}}
// NONE: p: i64[] on CPU:0
// NONE-NEXT: {{^}}1{{$}}
// NONE-NEXT: i: i64[] on CPU:0
// NONE-NEXT: {{^}}0{{$}}
func.func @power(%n: tensor<i64> {gantry.name = "n"}) -> (tensor<i64> {gantry.name = "p"}, tensor<i64> {gantry.name = "i"}) {
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %two = gantry.constant dense<2> : tensor<i64>
  %r:2 = gantry.while (%zero, %one) : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %p: tensor<i64>):
    %0 = gantry.compare lt, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %0 : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>, %p: tensor<i64>):
    %1 = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %2 = gantry.mul %p, %two : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %1, %2 : tensor<i64>, tensor<i64>
  }
  return %r#1, %r#0 : tensor<i64>, tensor<i64>
}

// Carried values change places: the tenth Fibonacci number is 55.
// RUN: gantry run %t.gantry --function fibonacci --fill n=randint:10:11 2>/dev/null | FileCheck %s --check-prefix=FIBONACCI
// FIBONACCI: {{^}}55{{$}}
func.func @fibonacci(%n: tensor<i64> {gantry.name = "n"}) -> tensor<i64> {
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %r:3 = gantry.while (%zero, %zero, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %a: tensor<i64>, %b: tensor<i64>):
    %0 = gantry.compare lt, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %0 : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>, %a: tensor<i64>, %b: tensor<i64>):
    %1 = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %2 = gantry.add %a, %b : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %1, %b, %2 : tensor<i64>, tensor<i64>, tensor<i64>
  }
  return %r#1 : tensor<i64>
}

// A branch in a loop in a call: 27 reaches 1 after 111 steps of Collatz' rule.
// RUN: gantry run %t.gantry --function collatz --fill n=randint:27:28 2>/dev/null | FileCheck %s --check-prefix=COLLATZ
// COLLATZ: {{^}}111{{$}}
func.func @collatz(%n: tensor<i64> {gantry.name = "n"}) -> tensor<i64> {
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %r:2 = gantry.while (%n, %zero) : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %steps: tensor<i64>):
    %0 = gantry.compare ne, %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %0 : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>, %steps: tensor<i64>):
    %1 = func.call @step(%i) : (tensor<i64>) -> tensor<i64>
    %2 = gantry.add %steps, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %1, %2 : tensor<i64>, tensor<i64>
  }
  return %r#1 : tensor<i64>
}
func.func private @step(%i: tensor<i64>) -> tensor<i64> {
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %two = gantry.constant dense<2> : tensor<i64>
  %three = gantry.constant dense<3> : tensor<i64>
  %0 = gantry.mod %i, %two : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %even = gantry.compare eq, %0, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %r = gantry.if %even -> (tensor<i64>) {
    %1 = gantry.div %i, %two : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %1 : tensor<i64>
  } else {
    %2 = gantry.mul %i, %three : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %3 = gantry.add %2, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %3 : tensor<i64>
  } : tensor<i1>
  return %r : tensor<i64>
}

// A loop in a loop; what is computed before the outer one is read in the inner one to the end.
// RUN: gantry run %t.gantry --function nested --fill x=ramp 2>/dev/null | FileCheck %s --check-prefix=NESTED
// NESTED: [ 0. 12. 24. 36.]
func.func @nested(%x: tensor<4xf32> {gantry.name = "x"}) -> tensor<4xf32> {
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %two = gantry.constant dense<2> : tensor<i64>
  %three = gantry.constant dense<3> : tensor<i64>
  %none = gantry.constant dense<0.0> : tensor<4xf32>
  %double = gantry.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r:2 = gantry.while (%zero, %none) : (tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
  ^bb0(%i: tensor<i64>, %sum: tensor<4xf32>):
    %0 = gantry.compare lt, %i, %two : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %0 : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>, %sum: tensor<4xf32>):
    %s:2 = gantry.while (%zero, %sum) : (tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
    ^bb0(%j: tensor<i64>, %t: tensor<4xf32>):
      %1 = gantry.compare lt, %j, %three : (tensor<i64>, tensor<i64>) -> tensor<i1>
      gantry.yield %1 : tensor<i1>
    } do {
    ^bb0(%j: tensor<i64>, %t: tensor<4xf32>):
      %2 = gantry.add %t, %double : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %3 = gantry.add %j, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
      gantry.yield %3, %2 : tensor<i64>, tensor<4xf32>
    }
    %4 = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %4, %s#1 : tensor<i64>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}
