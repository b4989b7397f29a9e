// RUN: gantry-opt %s --split-input-file --gantry-expand-optimizers --mlir-print-local-scope | FileCheck %s --enable-var-scope

// Without momentum nothing is kept.
// CHECK-NOT: gantry.variable @"w/sgd
// CHECK-LABEL: func.func @plain(
// CHECK-SAME: %[[G:.*]]: tensor<4xf32>, %[[RATE:.*]]: tensor<f64>, %{{.*}}: tensor<i64>)
// CHECK-NEXT: %[[W:.*]] = gantry.read @w
// CHECK: %[[R:.*]] = gantry.cast %[[RATE]] {{.*}} -> tensor<f32>
// CHECK-NEXT: %[[D:.*]] = gantry.mul %[[R]], %[[G]]
// CHECK-NEXT: %[[NEW:.*]] = gantry.sub %[[W]], %[[D]] {gantry.name = "w/sgd"}
// CHECK-NEXT: gantry.assign @w, %[[NEW]]
// CHECK-NEXT: return
gantry.variable @w = dense<0.5> : tensor<4xf32>
func.func @plain(%g: tensor<4xf32>, %rate: tensor<f64>, %t: tensor<i64>) {
  gantry.optimizer_step "sgd" @w, %g, %rate, %t : tensor<4xf32>, tensor<f64>, tensor<i64>
  return
}

// -----

// Slots live where the variable does, and are those of the name in the middle.
// CHECK: gantry.variable central @w {gantry.device = #gantry.device<"GPU:1">}
// CHECK: gantry.variable central @"w/mine/b" {gantry.device = #gantry.device<"GPU:1">} = dense<0.000000e+00> : tensor<4xf32>
// CHECK-LABEL: func.func @momentum(
// CHECK: %[[B:.*]] = gantry.read @"w/mine/b"
// What is computed is asked for there, too.
// CHECK: gantry.mul {{.*}} {gantry.device = #gantry.device<"GPU:1">, gantry.name = "w/mine"}
// CHECK: gantry.assign @w
// CHECK-NEXT: gantry.assign @"w/mine/b"
gantry.variable central @w {gantry.device = #gantry.device<"GPU:1">} = dense<0.5> : tensor<4xf32>
func.func @momentum(%g: tensor<4xf32>, %rate: tensor<f64>, %t: tensor<i64>) {
  gantry.optimizer_step "sgd" @w, %g, %rate, %t {numbers = {momentum = 0.9}, slots = "mine"} : tensor<4xf32>, tensor<f64>, tensor<i64>
  return
}

// -----

// Two functions share slots; scalar ones are of f64, and start at what the table says.
// CHECK-DAG: gantry.variable @"w/nadam/p" = dense<1.000000e+00> : tensor<f64>
// CHECK-DAG: gantry.variable @"w/nadam/m" = dense<0.000000e+00> : tensor<2xf32>
// CHECK-DAG: gantry.variable @"w/nadam/v" = dense<0.000000e+00> : tensor<2xf32>
// CHECK-DAG: gantry.variable @"w/nadam/master" = dense<0.000000e+00> : tensor<2xf32>
// CHECK-NOT: gantry.variable
// CHECK: func.func @a(
// CHECK: gantry.assign @"w/nadam/p", %{{.*}} : tensor<f64>
// CHECK: func.func @b(
// CHECK: gantry.read @"w/nadam/p" : tensor<f64>
gantry.variable @w = dense<0.5> : tensor<2xf16>
func.func @a(%g: tensor<2xf16>, %rate: tensor<f64>, %t: tensor<i64>) {
  gantry.optimizer_step "nadam" @w, %g, %rate, %t : tensor<2xf16>, tensor<f64>, tensor<i64>
  return
}
func.func @b(%g: tensor<2xf16>, %rate: tensor<f64>, %t: tensor<i64>) {
  gantry.optimizer_step "nadam" @w, %g, %rate, %t : tensor<2xf16>, tensor<f64>, tensor<i64>
  return
}

// -----

// Decoupled decay comes before the rule; a slot may start at a number of the rule.
// CHECK: gantry.variable @"w/adagrad/a" = dense<1.000000e-01> : tensor<2xf64>
// CHECK-LABEL: func.func @decay(
// CHECK-SAME: %[[G:.*]]: tensor<2xf64>, %[[RATE:.*]]: tensor<f64>
// CHECK: %[[W:.*]] = gantry.read @w
// CHECK: %[[SHARE:.*]] = gantry.mul %[[RATE]], %{{.*}} : (tensor<f64>, tensor<f64>)
// CHECK-NEXT: %[[OFF:.*]] = gantry.mul %[[SHARE]], %[[W]]
// CHECK-NEXT: gantry.sub %[[W]], %[[OFF]]
gantry.variable @w = dense<0.5> : tensor<2xf64>
func.func @decay(%g: tensor<2xf64>, %rate: tensor<f64>, %t: tensor<i64>) {
  gantry.optimizer_step "adagrad" @w, %g, %rate, %t {numbers = {initial = 0.1, decay = 0.01}} : tensor<2xf64>, tensor<f64>, tensor<i64>
  return
}

// -----

// A norm is a plain sum, its root and what becomes of it are of f64; where it is 0 the ratio is 1.
// CHECK-LABEL: func.func @lars(
// CHECK-SAME: %[[G:.*]]: tensor<4x2xf32>, %[[RATE:.*]]: tensor<f64>
// CHECK: %[[W:.*]] = gantry.read @w
// CHECK: %[[WW:.*]] = gantry.mul %[[W]], %[[W]]
// CHECK-NEXT: %[[S:.*]] = gantry.reduce_sum %[[WW]] {axes = array<i64: 0, 1>{{.*}} -> tensor<f32>
// CHECK-NEXT: %[[S64:.*]] = gantry.cast %[[S]] {{.*}} -> tensor<f64>
// CHECK-NEXT: %[[N:.*]] = gantry.sqrt %[[S64]]
// CHECK: %[[GG:.*]] = gantry.mul %[[G]], %[[G]]
// CHECK: %[[GN:.*]] = gantry.sqrt
// CHECK: %[[Q:.*]] = gantry.div %{{.*}}, %[[GN]]
// CHECK-COUNT-2: gantry.select
// CHECK: gantry.assign @w
gantry.variable @w = dense<0.5> : tensor<4x2xf32>
func.func @lars(%g: tensor<4x2xf32>, %rate: tensor<f64>, %t: tensor<i64>) {
  gantry.optimizer_step "lars" @w, %g, %rate, %t : tensor<4x2xf32>, tensor<f64>, tensor<i64>
  return
}

// -----

// What is narrow is updated in a wide copy, which is taken where it is what the variable was rounded from.
// CHECK: gantry.variable @"w/sgd/master" {gantry.device = #gantry.device<"GPU:1">} = dense<0.000000e+00> : tensor<4xf32>
// CHECK-LABEL: func.func @narrow(
// CHECK: %[[W:.*]] = gantry.read @w : tensor<4xbf16>
// CHECK: %[[M:.*]] = gantry.read @"w/sgd/master" : tensor<4xf32>
// CHECK: %[[ROUNDED:.*]] = gantry.cast %[[M]] {{.*}} -> tensor<4xbf16>
// CHECK: %[[SAME:.*]] = gantry.compare eq, %[[ROUNDED]], %[[W]]
// CHECK: %[[WIDE:.*]] = gantry.cast %[[W]] {{.*}} -> tensor<4xf32>
// CHECK: %[[OLD:.*]] = gantry.select %[[SAME]], %[[M]], %[[WIDE]]
// CHECK: %[[NEW:.*]] = gantry.sub %[[OLD]], %{{.*}} : (tensor<4xf32>
// CHECK: %[[GIVEN:.*]] = gantry.cast %[[NEW]] {{.*}} -> tensor<4xbf16>
// CHECK: gantry.assign @w, %[[GIVEN]]
// CHECK: gantry.assign @"w/sgd/master", %[[NEW]]
gantry.variable @w {gantry.device = #gantry.device<"GPU:1">} = dense<0.5> : tensor<4xbf16>
func.func @narrow(%g: tensor<4xbf16>, %rate: tensor<f64>, %t: tensor<i64>) {
  gantry.optimizer_step "sgd" @w, %g, %rate, %t : tensor<4xbf16>, tensor<f64>, tensor<i64>
  return
}

// -----

// What follows from the rate and the step alone has the optimizer's name, so that it is computed once for all variables.
// CHECK-LABEL: func.func @shared(
// CHECK: %[[T:.*]] = gantry.cast %{{.*}} {gantry.name = "adam"} : (tensor<i64>) -> tensor<f64>
// CHECK: gantry.mul {{.*}} {gantry.name = "u/adam"}
// CHECK: %[[P:.*]] = gantry.pow %{{.*}}, %[[T]] {gantry.name = "adam"}
// CHECK-NEXT: %{{.*}} = gantry.constant
// CHECK-NEXT: %[[S:.*]] = gantry.sub %{{.*}}, %[[P]] {gantry.name = "adam"}
// CHECK-NEXT: %[[C:.*]] = gantry.sqrt %[[S]] {gantry.name = "adam"}
// CHECK: %{{.*}} = gantry.cast %{{.*}} {gantry.name = "adam"} : (tensor<f64>) -> tensor<f32>
// CHECK-NEXT: gantry.mul %{{.*}} {gantry.name = "u/adam"} : (tensor<f32>, tensor<4xf32>)
// CHECK: gantry.cast %{{.*}} {gantry.name = "adam"} : (tensor<i64>) -> tensor<f64>
// CHECK: gantry.mul {{.*}} {gantry.name = "w/adam"}
gantry.variable @u = dense<0.5> : tensor<4xf32>
gantry.variable @w = dense<0.5> : tensor<4xf32>
func.func @shared(%g: tensor<4xf32>, %rate: tensor<f64>, %t: tensor<i64>) {
  gantry.optimizer_step "adam" @u, %g, %rate, %t : tensor<4xf32>, tensor<f64>, tensor<i64>
  gantry.optimizer_step "adam" @w, %g, %rate, %t : tensor<4xf32>, tensor<f64>, tensor<i64>
  return
}
