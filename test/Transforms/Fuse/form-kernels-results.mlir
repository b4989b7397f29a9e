// Kernels with several results: groups that go through the same elements become one.
// RUN: gantry-opt %s --gantry-form-kernels -split-input-file | FileCheck %s --enable-var-scope

// A step of an optimizer: the gradient is read once, moments and weight are written over what they were.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[M:[a-z0-9]+]]: {{[^,]*}}, %[[V:[a-z0-9]+]]: {{[^,]*}}, %[[W:[a-z0-9]+]]: {{[^,]*}}, %[[G:[a-z0-9]+]]: tensor<4xf32>)
// CHECK: %[[R:.*]]:3 = gantry.launch @kernels_cpu::@mul_add_update_mul_and_6_0(%[[G]], %[[M]], %[[V]], %[[W]])
// CHECK-NEXT: return %[[R]]#0, %[[R]]#1, %[[R]]#2
// CHECK: gantry.kernel @mul_add_update_mul_and_6_0 attributes {gantry.work = #gantry.work<in_place = [-3, 1, 0, 2, 3, -2, 2, 0, 1, 3, -1, 3, 1, 0, 2]>}
func.func @step(%m: tensor<4xf32> {gantry.variable = @m}, %v: tensor<4xf32> {gantry.variable = @v}, %w: tensor<4xf32> {gantry.variable = @w}, %g: tensor<4xf32>)
    -> (tensor<4xf32> {gantry.variable = @m}, tensor<4xf32> {gantry.variable = @v}, tensor<4xf32> {gantry.variable = @w}) {
  %rate = gantry.constant dense<1.000000e-01> : tensor<f32>
  %0 = gantry.mul %g, %rate : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = gantry.add %m, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = gantry.update %1 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = gantry.mul %g, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = gantry.add %v, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = gantry.update %4 : (tensor<4xf32>) -> tensor<4xf32>
  %6 = gantry.sqrt %5 : (tensor<4xf32>) -> tensor<4xf32>
  %7 = gantry.div %2, %6 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %8 = gantry.sub %w, %7 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %9 = gantry.update %8 : (tensor<4xf32>) -> tensor<4xf32>
  return %2, %5, %9 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// What a product is followed by is its epilogue, and the rest a kernel of its own.
// CHECK-LABEL: func.func @epilogue(
// CHECK: %[[B:.*]] = gantry.launch @kernels_cpu::@matmul_add_update_0
// CHECK: gantry.launch @kernels_cpu::@sub_update_0(%{{.*}}, %[[B]])
func.func @epilogue(%b: tensor<4x4xf32> {gantry.variable = @b}, %w: tensor<4x4xf32> {gantry.variable = @w}, %x: tensor<4x4xf32>)
    -> (tensor<4x4xf32> {gantry.variable = @b}, tensor<4x4xf32> {gantry.variable = @w}) {
  %0 = gantry.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = gantry.add %b, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = gantry.update %1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = gantry.sub %w, %2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = gantry.update %3 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2, %4 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A reader between the two roots comes behind both.
// CHECK-LABEL: func.func @between(
// CHECK-NEXT: %[[R:.*]]:2 = gantry.launch @kernels_cpu::@add_update_sub_update_0
// CHECK-NEXT: %[[P:.*]] = gantry.launch @kernels_cpu::@matmul_0(%[[R]]#0)
// CHECK-NEXT: return %[[R]]#0, %[[R]]#1, %[[P]]
func.func @between(%m: tensor<4x4xf32> {gantry.variable = @m}, %w: tensor<4x4xf32> {gantry.variable = @w}, %g: tensor<4x4xf32>)
    -> (tensor<4x4xf32> {gantry.variable = @m}, tensor<4x4xf32> {gantry.variable = @w}, tensor<4x4xf32>) {
  %0 = gantry.add %m, %g : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = gantry.update %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = gantry.matmul %1, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = gantry.sub %w, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = gantry.update %3 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1, %4, %2 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// One of the two is reached from the other through a third.
// CHECK-LABEL: func.func @through(
// CHECK-NEXT: %[[E:.*]] = gantry.launch @kernels_cpu::@exp_0(
// CHECK-NEXT: %[[P:.*]] = gantry.launch @kernels_cpu::@matmul_0(%[[E]])
// CHECK-NEXT: %[[T:.*]] = gantry.launch @kernels_cpu::@transpose_0(%[[P]])
// CHECK-NEXT: gantry.launch @kernels_cpu::@add_0(%[[E]], %[[T]])
func.func @through(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = gantry.exp %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = gantry.matmul %0, %0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = gantry.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = gantry.add %0, %2 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// -----

// The old value of a variable is read in between: its update stays behind.
// CHECK-LABEL: func.func @late(
// CHECK-NEXT: gantry.launch @kernels_cpu::@exp_0(
// CHECK-NEXT: gantry.launch @kernels_cpu::@matmul_0(
// CHECK-NEXT: gantry.launch @kernels_cpu::@sub_update_0(
func.func @late(%w: tensor<4x4xf32> {gantry.variable = @w}, %g: tensor<4x4xf32>) -> (tensor<4x4xf32> {gantry.variable = @w}, tensor<4x4xf32>) {
  %0 = gantry.exp %g : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = gantry.matmul %w, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = gantry.sub %w, %g : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = gantry.update %2 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Two results of which nobody reads one; it is made all the same.
// CHECK-LABEL: func.func @unread(
// CHECK-NEXT: %[[R:.*]]:2 = gantry.launch @kernels_cpu::@exp_neg_0(
// CHECK-NEXT: return %[[R]]#1
func.func @unread(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// A variable is updated twice: the first update is what the second begins with.
// CHECK-LABEL: func.func @twice(
// CHECK-NEXT: %[[R:.*]]:2 = gantry.launch @kernels_cpu::@add_update_exp_mul_and_1_0(
// CHECK-NEXT: return %[[R]]#1, %[[R]]#0
func.func @twice(%w: tensor<4xf32> {gantry.variable = @w}, %g: tensor<4xf32>) -> (tensor<4xf32> {gantry.variable = @w}, tensor<4xf32>) {
  %0 = gantry.add %w, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.update %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gantry.exp %1 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = gantry.mul %1, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = gantry.update %3 : (tensor<4xf32>) -> tensor<4xf32>
  return %4, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Results of two types are one kernel, of two shapes are two.
// CHECK-LABEL: func.func @types(
// CHECK-NEXT: gantry.launch @kernels_cpu::@exp_cast_0({{.*}} -> (tensor<4xf32>, tensor<4xbf16>)
// CHECK-NEXT: gantry.launch @kernels_cpu::@add_0({{.*}} -> tensor<2x4xf32>
func.func @types(%x: tensor<4xf32>, %y: tensor<2x4xf32>) -> (tensor<4xf32>, tensor<4xbf16>, tensor<2x4xf32>) {
  %0 = gantry.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.cast %0 : (tensor<4xf32>) -> tensor<4xbf16>
  %2 = gantry.add %y, %x : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xbf16>, tensor<2x4xf32>
}

// -----

// What another one reads in a view is there before the view.
// CHECK-LABEL: func.func @view(
// CHECK-NEXT: %[[E:.*]]:2 = gantry.launch @kernels_cpu::@exp_neg_0(
// CHECK-NEXT: %[[V:.*]] = gantry.reshape %[[E]]#0
// CHECK-NEXT: gantry.launch @kernels_cpu::@matmul_0(%[[V]])
func.func @view(%x: tensor<16xf32>) -> (tensor<4x4xf32>, tensor<16xf32>) {
  %0 = gantry.exp %x : (tensor<16xf32>) -> tensor<16xf32>
  %1 = gantry.reshape %0 : (tensor<16xf32>) -> tensor<4x4xf32>
  %2 = gantry.neg %0 : (tensor<16xf32>) -> tensor<16xf32>
  %3 = gantry.matmul %1, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3, %2 : tensor<4x4xf32>, tensor<16xf32>
}

// -----

// In the body of a loop.
// CHECK-LABEL: func.func @loop(
// CHECK: gantry.while
// CHECK: } do {
// CHECK: %[[R:.*]]:2 = gantry.launch @kernels_cpu::@add_sub_0(
// CHECK-NEXT: gantry.yield %[[R]]#0, %[[R]]#1
func.func @loop(%m: tensor<4xf32>, %w: tensor<4xf32>, %c: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
  %r:2 = gantry.while (%m, %w) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    gantry.yield %c : tensor<i1>
  } do {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %0 = gantry.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = gantry.sub %b, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// What is made early would be held for long: both stay apart.
// CHECK-LABEL: func.func @held(
// CHECK-NEXT: gantry.launch @kernels_cpu::@exp_0(
// CHECK-NEXT: gantry.launch @kernels_cpu::@matmul_0(
// CHECK-NEXT: gantry.launch @kernels_cpu::@neg_0(
func.func @held(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = gantry.exp %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = gantry.matmul %0, %0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = gantry.neg %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Unless what it is made of would be held as long.
// CHECK-LABEL: func.func @freed(
// CHECK-NEXT: %[[M:.*]] = gantry.launch @kernels_cpu::@matmul_0(%arg0)
// CHECK-NEXT: %[[R:.*]]:2 = gantry.launch @kernels_cpu::@exp_neg_0(%[[M]])
// CHECK-NEXT: gantry.launch @kernels_cpu::@matmul_0(%[[R]]#0)
func.func @freed(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %m = gantry.matmul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %0 = gantry.exp %m : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = gantry.matmul %0, %0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = gantry.neg %m : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Of more than 16 tensors that a kernel would read or write.
// CHECK-LABEL: func.func @many(
// CHECK-NEXT: gantry.launch @kernels_cpu::@add_n_0(
// CHECK-NEXT: gantry.launch @kernels_cpu::@add_n_1(
func.func @many(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>, %e: tensor<4xf32>, %f: tensor<4xf32>, %g: tensor<4xf32>, %h: tensor<4xf32>,
    %i: tensor<4xf32>, %j: tensor<4xf32>, %k: tensor<4xf32>, %l: tensor<4xf32>, %m: tensor<4xf32>, %n: tensor<4xf32>, %o: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = gantry.add_n %a, %b, %c, %d, %e, %f, %g, %h : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.add_n %h, %i, %j, %k, %l, %m, %n, %o, %0 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// The old value is read behind in a view: the update does not join what runs in front of that reader.
// CHECK-LABEL: func.func @late_in_a_view(
// CHECK-NEXT: %[[V:.*]] = gantry.reshape %arg0
// CHECK-NEXT: %[[S:.*]] = gantry.launch @kernels_cpu::@add_0(%arg1, %arg2)
// CHECK: gantry.launch @kernels_cpu::@matmul_0(%{{.*}}, %[[V]])
// CHECK-NEXT: gantry.launch @kernels_cpu::@sub_update_0(%arg0, %[[S]])
func.func @late_in_a_view(%w: tensor<16xf32> {gantry.variable = @w}, %g: tensor<16xf32>, %h: tensor<16xf32>) -> (tensor<16xf32> {gantry.variable = @w}, tensor<4x4xf32>) {
  %v = gantry.reshape %w : (tensor<16xf32>) -> tensor<4x4xf32>
  %s = gantry.add %g, %h : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %t = gantry.reshape %s : (tensor<16xf32>) -> tensor<4x4xf32>
  %p = gantry.matmul %t, %v : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = gantry.sub %w, %s : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %u = gantry.update %d : (tensor<16xf32>) -> tensor<16xf32>
  return %u, %p : tensor<16xf32>, tensor<4x4xf32>
}
