"""What goes in beside marked C: the same program, written in another way, has the same accesses."""

from __future__ import annotations

import islpy as isl
import numpy as np
import pytest

import shorthaul
from shorthaul.affine.model import Program
from shorthaul.core.errors import InputError

_OUT = isl.dim_type.out
HEAD = "int n, int m, int k, int T, double A[n][n], double B[n][n], double c[n], double d[n], double *x, double *y, double U[n][m + 1][T], double V[n + 2][n + 2], double W[n][m * T]"


def written(body: str, head: str = HEAD, before: str = "", *, marked: bool = True) -> Program:
    inside = f"#pragma scop\n{body}\n#pragma endscop" if marked else body
    return shorthaul.affine.program_from_text(f"{before}void f({head}) {{\n{inside}\n}}\n")


def assert_same(left: Program, right: Program) -> None:
    """Fail unless both programs have the same instances, in the same order, with the same accesses."""
    assert len(left.statements) == len(right.statements)
    for one, other in zip(left.statements, right.statements, strict=True):
        assert one.domain.is_equal(other.domain)
        assert one.schedule.is_equal(other.schedule)
        pairs = [(one.write, other.write), *zip(one.reads, other.reads, strict=True)]
        for a, b in pairs:
            assert a.relation.range().reset_tuple_id().is_equal(b.relation.range().reset_tuple_id())
            assert a.relation.reset_tuple_id(_OUT).is_equal(b.relation.reset_tuple_id(_OUT))


EQUAL = {
    "an index set twice": (
        "for (int i = 0; i < n; i++) { int l = i - 1; if (l < 0) { l = 0; } c[i] = d[l]; }",
        "for (int i = 0; i < n; i++) c[i] = d[i > 0 ? i - 1 : 0];",
    ),
    "ends of tiles": (
        "int e; for (int t = 0; t < n; t += 4) { e = t + 4; if (e > n) e = n; for (int i = t; i < e; i++) c[i] = 0; }",
        "for (int t = 0; t < n; t += 4) for (int i = t; i < (t + 4 < n ? t + 4 : n); i++) c[i] = 0;",
    ),
    "rest by a parameter": (
        "for (int i = 0; i < n; i++) c[i] = d[(i + 1) % n];",
        "for (int i = 0; i < n; i++) c[i] = d[i < n - 1 ? i + 1 : 0];",
    ),
    "rest below": (
        "for (int i = 0; i < n; i++) c[i] = d[(i + n - 2) % n];",
        "for (int i = 0; i < n; i++) c[i] = d[i + n - 2 >= 2 * n ? 0 : i + n - 2 < n ? (i + n - 2 < 0 ? 0 : i + n - 2) : i - 2];",
    ),
    "quotient": (
        "for (int i = 0; i < 2 * n; i++) c[i / n] += d[i];",
        "for (int i = 0; i < 2 * n; i++) c[i < n ? 0 : 1] += d[i];",
    ),
    "bits": (
        "for (int t = 0; t < T; t++) A[(t + 1) & 1][t & 3] = B[t & 1 ^ 1][0];",
        "for (int t = 0; t < T; t++) A[(t + 1) % 2][t % 4] = B[1 - t % 2][0];",
    ),
    "size of an operand": ("c[0] = d[1] * sizeof(c[2]);", "c[0] = d[1] * 8;"),
    "assignment whose value is not wanted": ("(void)(c[0] = d[1]);", "c[0] = d[1];"),
    "prototypes in a block": (
        "double sqrt(double n); for (int i = 0; i < n; i++) { double fabs(double c); c[i] = fabs(sqrt(d[i])); }",
        "for (int i = 0; i < n; i++) c[i] = fabs(sqrt(d[i]));",
    ),
    "a variable that is kept between calls": (
        "static double s = 0; static const int k = 1; for (int i = 0; i < n; i++) { s += d[i + k]; c[i] = s; }",
        "double s; for (int i = 0; i < n; i++) { s += d[i + 1]; c[i] = s; }",
    ),
    "a name that hides another": (
        "for (int i = 0; i < n; i++) { int j = i + 1; for (int i = 0; i < 2; i++) c[j] += d[i]; }",
        "for (int i = 0; i < n; i++) for (int h = 0; h < 2; h++) c[i + 1] += d[h];",
    ),
    "names of members": (
        "struct P { double y; } p; p.y = d[0]; c[0] = y[1] + p.y;",
        "double z; z = d[0]; c[0] = y[1] + z;",
    ),
    "values of a table": (
        "double t[3][2] = {{c[0], 1}, {c[1]}}; d[0] = t[1][1];",
        "double t[3][2]; t[0][0] = c[0]; t[0][1] = 1; t[1][0] = c[1]; for (int h = 1; h < 2; h++) t[1][h] = 0; for (int h = 2; h < 3; h++) for (int g = 0; g < 2; g++) t[h][g] = 0; d[0] = t[1][1];",
    ),
    "static values": (
        "static const double t[] = {1, 2, 1}; for (int i = 0; i < 3; i++) c[i] = t[i];",
        "for (int i = 0; i < 3; i++) c[i] = x[i];",
    ),
    "arrays set and copied": (
        "memset(c, 0, n * sizeof(double)); memcpy(A, B, sizeof(double) * n * n); memcpy(x + 1, A[2], (n - 1) * sizeof *x);",
        "for (int i = 0; i < n; i++) c[i] = 0; for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = B[i][j]; for (int i = 0; i < n - 1; i++) x[i + 1] = A[2][i];",
    ),
    "local arrays set and copied": (
        "double s[3][4], t[3][4]; memset(s, 0, sizeof s); memcpy(t, s, sizeof(t)); c[0] = t[1][2];",
        "double s[3][4], t[3][4]; for (int i = 0; i < 3; i++) for (int j = 0; j < 4; j++) s[i][j] = 0; for (int i = 0; i < 3; i++) for (int j = 0; j < 4; j++) t[i][j] = s[i][j]; c[0] = t[1][2];",
    ),
    "pointers that are not NULL": (
        "double *p = malloc(n * sizeof *p); if (!p || x == NULL) return; for (int i = 0; i < n; i++) p[i] = c[i]; free(p);",
        "for (int i = 0; i < n; i++) d[i] = c[i];",
    ),
    "branch on data": (
        "for (int i = 0; i < n; i++) if (c[i] < d[i]) c[i] = d[i]; else x[i] += 2;",
        "for (int i = 0; i < n; i++) { x[i] = c[i] < d[i] ? x[i] : x[i] + 2; c[i] = c[i] < d[i] ? d[i] : c[i]; }",
    ),
    "branches on data": (
        "for (int i = 1; i < n; i++) if (i > 2 && c[i] < d[i]) { x[i] = y[i]; if (d[i] > 0) y[i]++; }",
        "for (int i = 3; i < n; i++) { x[i] = c[i] < d[i] ? y[i] : x[i]; y[i] = c[i] < d[i] ? (d[i] > 0 ? y[i] + 1 : y[i]) : y[i]; }",
    ),
    "one place in both branches": (
        "for (int i = 0; i < n; i++) if (c[i] > 0) c[i] = d[i]; else c[i] = x[i];",
        "for (int i = 0; i < n; i++) c[i] = c[i] > 0 ? d[i] : x[i];",
    ),
    "loop over a product": (
        "int nm = n * m; for (int i = 0; i < T; i++) for (int p = 0; p < nm; p++) x[i * nm + p] = B[i][i] * y[p];",
        "for (int i = 0; i < T; i++) for (int a = 0; a < n; a++) for (int b = 0; b < m; b++) x[(i * n + a) * m + b] = B[i][i] * y[a * m + b];",
    ),
    "a flattened axis": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int k = 0; k < T; k++) W[i][j * T + k] = 0;",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int k = 0; k < T; k++) U[i][j][k] = 0;",
    ),
    "not equal": ("for (int i = 0; i != n; i++) c[i] = 0;", "for (int i = 0; i < n; i++) c[i] = 0;"),
    "not equal, down": ("for (int i = n - 1; -1 != i; --i) c[i] = 0;", "for (int i = n - 1; i >= 0; i--) c[i] = 0;"),
    "counted down in the condition": (
        "for (int i = n; i-- > 0;) for (int j = n; --j > i;) c[i] += d[j];",
        "for (int i = n - 1; i >= 0; i--) for (int j = n - 1; j > i; j--) c[i] += d[j];",
    ),
    "counted up in the condition": (
        "for (int i = -1; ++i != n;) for (int j = 0; j++ < i;) c[i] += d[j];",
        "for (int i = 0; i < n; i++) for (int j = 1; j <= i; j++) c[i] += d[j];",
    ),
    "constants of headers": (
        "for (int i = 0; i < n; i++) c[i] = fmin(d[i], INFINITY) * M_PI + (d[0] > INT_MIN ? DBL_EPSILON : tanf(NAN));",
        "for (int i = 0; i < n; i++) c[i] = fmin(d[i], 9.0) * 3.1 + (d[0] > -9 ? 0.5 : sinf(1.0));",
    ),
    "a macro's do": (
        "for (int i = 0; i < n; i++) do { c[i] = d[i]; d[i] = 0; } while (0);",
        "for (int i = 0; i < n; i++) { c[i] = d[i]; d[i] = 0; }",
    ),
    "integers of data": (
        "for (int i = 0; i < n; i++) { int e = c[i] - d[i], k = e * i; c[i] = k; }",
        "for (int i = 0; i < n; i++) { double e = c[i] - d[i], k = e * i; c[i] = k; }",
    ),
    "pointers to rows": (
        "for (int i = 1; i < n; i++) { double *r = A[i], *up = &A[i - 1][1]; for (int j = 1; j < n; j++) r[j] += up[j - 1] + *r; }",
        "for (int i = 1; i < n; i++) for (int j = 1; j < n; j++) A[i][j] += A[i - 1][j] + A[i][0];",
    ),
    "pointers to places": (
        "for (int i = 2; i < n; i++) { const double *p = d + i, *q = p; { double *o = c; o[i] = p[-1] + *(q - 2); } }",
        "for (int i = 2; i < n; i++) c[i] = d[i - 1] + d[i - 2];",
    ),
    "pointer and two indices": (
        "for (int i = 0; i < n; i++) for (int j = 1; j < n; j++) *(A[i] + j - 1) = *(A[j] - 1 + i + 1) + *(c + 2 - 2 + j);",
        "for (int i = 0; i < n; i++) for (int j = 1; j < n; j++) A[i][j - 1] = A[j][i] + c[j];",
    ),
    "pointer to one": ("for (int i = 0; i < n; i++) *c += A[i][0];", "for (int i = 0; i < n; i++) c[0] += A[i][0];"),
    "subscripts of a pointer": (
        "for (int i = 1; i < n; i++) { double (*r)[m] = A + i; (c + i)[-1] = (*r)[1] + r[-1][0]; }",
        "for (int i = 1; i < n; i++) c[i - 1] = A[i][1] + A[i - 1][0];",
    ),
    "pointers": ("for (int i = 0; i < n; i++) *(*(A + i) + 1) = *(c + i);", "for (int i = 0; i < n; i++) A[i][1] = c[i];"),
    "while": (
        "int i = 0, j; while (i < n) { j = i; while (j-- > 0) A[i][j] = c[j]; d[i] = 0; i += 1; }",
        "for (int i = 0; i < n; i++) { for (int j = 0; j < i; j++) A[i][i - j - 1] = c[i - j - 1]; d[i] = 0; }",
    ),
    "do": (
        "int i = 0; do { int j = n; do { A[i][j - 1] = 0; } while (--j > 0); i = i + 1; } while (i < n);",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[i][n - j - 1] = 0;",
    ),
    "do, once at least": (
        "int i = 2; do c[i] = d[i]; while (i++ < n - 4);",
        "for (int i = 0; i <= max(0, n - 6); i++) c[i + 2] = d[i + 2];",
    ),
    "pointers that walk": (
        "double *p = x; for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) *p++ += y[j]; d[i] = p[-1]; p += 2; }",
        "for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) x[i * (n + 2) + j] += y[j]; d[i] = x[i * (n + 2) + n - 1]; }",
    ),
    "pointers into rows": (
        "double *p = &A[0][0]; for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) *p++ = 0; }",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = 0;",
    ),
    "ends by pointers": (
        "double *end = c + n; for (double *p = c; p != end; ++p) *p = 0; double *lo = c, *hi = c + n; while (lo < hi) *lo++ = *--hi;",
        "for (int i = 0; i < n; i++) c[i] = 0; for (int i = 0; i < n - i; i++) c[i] = c[n - i - 1];",
    ),
    "unrolled, and the rest": (
        "int i; for (i = 0; i + 3 < n; i += 4) { c[i] = d[i]; c[i + 3] = 0; } for (; i < n; i++) c[i] = 1;",
        "for (int i = 0; i < n / 4 * 4; i += 4) { c[i] = d[i]; c[i + 3] = 0; } for (int k = 0; k < n % 4; k++) c[n / 4 * 4 + k] = 1;",
    ),
    "unrolled by whiles": (
        "int i = 0; while (i <= n - 2) { c[i] = d[i + 1]; i += 2; } if (n % 2) c[i] = 1;",
        "for (int k = 0; k < n / 2; k++) c[2 * k] = d[2 * k + 1]; if (n % 2) c[n / 2 * 2] = 1;",
    ),
    "unrolled twice": (
        "int i = 0; for (; i < n - 7; i += 8) c[i] = 8; for (; i < (n & ~3); i += 4) c[i] = 4; for (; i < n; i++) c[i] = 1;",
        "for (int k = 0; k < n / 8; k++) c[8 * k] = 8; if (n % 8 > 3) c[n / 8 * 8] = 4; for (int k = 0; k < n % 4; k++) c[n / 4 * 4 + k] = 1;",
    ),
    "unrolled down, in a triangle": (
        "int j; for (int i = 0; i < n; i++) { for (j = i; j >= 2; j -= 3) A[i][j] = 3; for (; j >= 0; j--) A[i][j] = 1; }",
        "for (int i = 0; i < n; i++) { for (int j = i; j >= 2; j -= 3) A[i][j] = 3; for (int k = 0; k < (i + 1) % 3; k++) A[i][(i + 1) % 3 - 1 - k] = 1; }",
    ),
    "a counter behind its loop": (
        "int i, k; for (i = 1, k = n; i < k; i++, k--) c[i] = 0; c[i] = d[k];",
        "for (int i = 1; i < n - i + 1; i++) c[i] = 0; c[n / 2 + 1] = d[n - n / 2];",
    ),
    "packed by a walk": (
        "int k = 0; for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) x[k++] = A[i][j];",
        "for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) x[i * (i + 1) / 2 + j] = A[i][j];",
    ),
    "shorter than a walk": (
        "double *p = x; for (int i = 1; i < n - 1; i++) *p++ = 0; for (int i = 0; i < n; i++) *p++ = 1;",
        "assert(n >= 2); for (int i = 1; i < n - 1; i++) x[i - 1] = 0; for (int i = 0; i < n; i++) x[n + i - 2] = 1;",
    ),
    "strides": (
        "int k = 0; for (int i = 0; i < n; i++, k += m) { int l = k; for (int j = 0; j < n; j++, l += 2) x[l] = 0; }",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x[i * m + 2 * j] = 0;",
    ),
    "two counters": (
        "int i, j; for (i = 0, j = n - 1; i < j; i++, j--) { c[i] += d[j]; } for (i = j = 1; i < n; j += 3, i += 2) c[i] = d[j - 1];",
        "for (int i = 0; i < n - 1 - i; i++) c[i] += d[n - 1 - i]; for (int i = 1; i < n; i += 2) c[i] = d[3 * ((i - 1) / 2)];",
    ),
    "counters of a body": (
        "int k = 0; double s = 0, *p = d; for (int i = n - 1; i >= 0; i--) { c[k] = p[k / 2]; s += 1; k++; p++; }",
        "double s = 0; for (int i = n - 1; i >= 0; i--) { c[n - 1 - i] = d[n - 1 - i + (n - 1 - i) / 2]; s += 1; }",
    ),
    "set twice": (
        "int i, j; for (i = 0, j = 0; i < n; i++) { for (j = i; j < n; j++) A[i][j] = 0; }",
        "for (int i = 0; i < n; i++) for (int j = i; j < n; j++) A[i][j] = 0;",
    ),
    "limits that count": (
        "int j; for (int i = 0; i < n; i++) { j = 0; while (j < i) { A[i][j / 2] = c[j]; j++; } for (j = 0; j < n; j++) d[j] = 0; }",
        "for (int i = 0; i < n; i++) { for (int j = 0; j < i; j++) A[i][j / 2] = c[j]; for (int j = 0; j < n; j++) d[j] = 0; }",
    ),
    "packed triangle": (
        "for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) c[i * (i + 1) / 2 + j] = d[i - -((i + 1) * i >> 1)];",
        "for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) A[i][j] = B[i][i];",
    ),
    "packed without its diagonal": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) c[j + i * (i - 1) / 2] = 0;",
        "for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) A[i - 1][j] = 0;",
    ),
    "rows with a border": (
        "const int w = n + 2; for (int i = 1; i <= n; i++) for (int j = 1; j <= n; j++) x[i * (n + 2) + j] = y[(i - 1) * w + j + w] + y[i * (2 + n) + j + 1];",
        "for (int i = 1; i <= n; i++) for (int j = 1; j <= n; j++) A[i][j] = B[i][j] + B[i][j + 1];",
    ),
    "last rows and columns": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x[i * n + j] += x[(n - 1) * n + j] * y[i * n + n - 1];",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[i][j] += A[n - 1][j] * B[i][n - 1];",
    ),
    "borders": (
        "for (int i = 1; i <= n; i++) { x[i * (n + 2)] = x[i * (n + 2) + n]; x[(n + 1) * (n + 2) + i] = x[n + 2 + i]; }",
        "for (int i = 1; i <= n; i++) { V[i][0] = V[i][n]; V[n + 1][i] = V[1][i]; }",
    ),
    "images, rows and channels": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int l = 0; l < T; l++) x[(i * (m + 1) + j + 1) * T + l] = 0;",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int l = 0; l < T; l++) U[i][j + 1][l] = 0;",
    ),
    "tables in subscripts": (
        "static const int e[3] = {0, 1, -1}; for (int q = 0; q < 3; q++) for (int i = 1; i < n; i++) { int j = i + e[q]; A[q][j] = B[j][q] * e[q]; }",
        ("for (int i = 1; i < n; i++) A[0][i] = B[i][0] * 0; for (int i = 1; i < n; i++) A[1][i + 1] = B[i + 1][1] * 1;"
         "for (int i = 1; i < n; i++) A[2][i - 1] = B[i - 1][2] * -1;"),
    ),
    "steps that change": (
        "for (int l = 1; l < 8; l *= 2) for (int i = 0; i < n; i += 2 * l) c[i + l] = d[i];",
        ("for (int i = 0; i < n; i += 2) c[i + 1] = d[i]; for (int i = 0; i < n; i += 4) c[i + 2] = d[i];"
         "for (int i = 0; i < n; i += 8) c[i + 4] = d[i];"),
    ),
    "numbers that locals stand for": (
        "const int s = 2, k = s + 1; for (int i = 0; i < n; i += s) c[i * k / s] = d[i % k];",
        "for (int i = 0; i < n; i += 2) c[i * 3 / 2] = d[i % 3];",
    ),
    "distances": (
        "for (int i = 0; i < n; i++) { if (abs(i - T) > m) continue; if (abs(i - 4) != 2) c[i] = 1; if (2 <= abs(i)) c[i] = 2; }",
        "for (int i = 0; i < n; i++) if (i - T <= m && T - i <= m) { if (i != 2 && i != 6) c[i] = 1; if (i >= 2) c[i] = 2; }",
    ),
    "distances that are never negative": (
        "for (int i = 0; i < n; i++) { if (abs(i - T) != -1) c[i] = 1; if (abs(i - T) == -1) c[i] = 2; }",
        "for (int i = 0; i < n; i++) { if (1) c[i] = 1; if (0) c[i] = 2; }",
    ),
    "packed rows that become shorter": (
        "for (int i = 0; i < n; i++) for (int j = i; j < n; j++) c[i * n - i * (i - 1) / 2 + j - i] = d[(2 * n - i - 1) * i / 2 + n - 1];",
        "for (int i = 0; i < n; i++) for (int j = i; j < n; j++) A[n - i][j - i] = B[n - i][n - 1 - i];",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EQUAL)
def test_other_ways_to_write_it(name: str) -> None:
    left, right = EQUAL[name]
    assert_same(written(left), written(right))


def test_unrolled_by_a_macro() -> None:
    body = "int i; for (i = 0; i + {0} <= n; i += {0}) c[i] = {0}; for (; i < n; i++) c[i] = 1;"
    assert_same(written(body.format("U"), before="#define U 8\n"), written(body.format("8")))


STRUCTURES = {
    "of arrays": ("typedef struct { double *u, *v; } P;\n", "P p", "p.u[i] += p.v[i]"),
    "behind a pointer": ("struct P { double *u; double *v; };\n", "struct P *p", "p->u[i] += p->v[i]"),
    "in an array": ("typedef struct P { double u, v; } P;\n", "P p[n]", "p[i].u += p[i].v"),
    "by pointers named as fields": (
        "typedef struct { double *u, *v; } P;\n",
        "P *p",
        "double *u = p->u + i; const double *w = &p->v[i]; *u += *w",
    ),
    "by a pointer to one": ("struct P { double u, v; };\n", "struct P *p", "struct P *q = p + i; q->u += (&p[i])->v"),
}


def test_structures_with_their_values() -> None:
    made = written("P v[2] = {{c[0], 1}, {c[1]}}; d[0] = v[1].x;", before="typedef struct { double x, y; } P;\n")
    plain = "double p[2], q[2]; p[0] = c[0]; p[1] = c[1]; q[0] = 1; q[1] = 0; d[0] = p[1];"
    assert_same(made, written(plain))


@pytest.mark.parametrize("name", STRUCTURES)
def test_structures(name: str) -> None:
    before, argument, body = STRUCTURES[name]
    made = written(f"for (int i = 0; i < n; i++) {{ {body}; }}", f"int n, {argument}", before)
    assert_same(made, written("for (int i = 0; i < n; i++) c[i] += d[i];", "int n, double c[n], double d[n]"))
    assert list(made.code.arguments) == ["n", "p_u", "p_v"]


def test_structures_within_structures() -> None:
    types = "typedef struct { double x, y; } R;\ntypedef struct Q { R u, v; struct Q *next; } Q;\n"
    body = "for (int i = 0; i < n; i++) { Q q; R r = p[i].u; q.v = p[i].v; r.x += q.v.y * p->next->u.x; p[i].u = r; }"
    plain = "for (int i = 0; i < n; i++) { double r = A[0][i], s = A[1][i], t = A[2][i], v = A[3][i]; r += v * c[0]; A[0][i] = r; A[1][i] = s; }"
    made, other = written(body, "int n, Q *p", types), written(plain, "int n, double A[4][n], double *c")
    assert [item.operations for item in made.statements] == [item.operations for item in other.statements]
    for one, same in zip(made.statements, other.statements, strict=True):
        assert one.domain.is_equal(same.domain)
        assert len(one.reads) == len(same.reads)
    assert made.code is not None
    assert list(made.code.arguments) == ["n", "p_u_x", "p_u_y", "p_v_x", "p_v_y", "p_next_u_x"]


LISTS = "typedef struct Q { double x, y; struct Q *next; } Q;\n"


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ("p[i] = p[i + 1];", ["p_x", "p_y", "p_next"]),
        ("Q q; q = p[i]; p[i].x = q.y;", ["p_x", "p_y", "p_next"]),
        ("Q q = p[i]; p[i].x = q.y;", ["p_x", "p_y", "p_next"]),
        ("Q *q; q = p; q->x += i;", ["p_x"]),
    ],
)
def test_lists_of_structures_are_copied_as_words(body: str, fields: list[str]) -> None:
    made = written(f"for (int i = 0; i < n; i++) {{ {body} }}", "int n, Q *p", LISTS)
    assert made.code is not None
    assert list(made.code.arguments) == ["n", *fields]


@pytest.mark.parametrize("body", ["Q *q = p[i].next; q->x = 1;", "Q q; q = p[i]; p[i].x = q.next->y;"])
def test_a_pointer_that_an_element_holds_is_not_followed(body: str) -> None:
    with pytest.raises(InputError, match=r"(?s)line \d+: a pointer that an element holds may lead to .*p\[k\]\.x"):
        written(f"for (int i = 0; i < n; i++) {{ {body} }}", "int n, Q *p", LISTS)


def test_numbers_of_a_structure_behind_a_pointer() -> None:
    types = "typedef struct { double *u, *v, s; int nx; long ny; } P;\n"
    body = (
        "for (int i = 1; i < {0}; i++) for (int j = 0; j < {1}; j++) {2}[i * {1} + j] = {3}[(i - 1) * {1} + j] * {4};"
    )
    made = written(body.format("p->nx", "p->ny", "p->u", "p->v", "p->s"), "const P *p", types)
    head = "int nx, long ny, double *u, double *v, double s"
    plain = written(body.format("nx", "ny", "u", "v", "s"), head)
    assert made.parameters == ("p_nx", "p_ny")
    assert made.code is not None
    assert sorted(made.code.declarations.values()) == ["double *p_u", "double *p_v", "double p_s"]
    sizes = ({"p_nx": 4, "p_ny": 5}, {"nx": 4, "ny": 5})
    one, other = map(shorthaul.affine.concrete_cdag, (made, plain), sizes)
    assert np.array_equal(one.operands, other.operands)


def test_structures_as_a_whole() -> None:
    types = "typedef struct { double re, im; } C;\n"
    body = "for (int i = 0; i < n; i++) { C one = {1}, s = x[i], t; t = y[i]; s.re += one.re * t.im; x[i] = s; y[i].im = one.im; }"
    plain = (
        "for (int i = 0; i < n; i++) { double o = 1, p = 0, s = c[i], u = d[i], t, v; t = e[i]; v = g[i]; s += o * v;"
        " c[i] = s; d[i] = u; g[i] = p; }"
    )
    made = written(body, "int n, C *x, C *y", types)
    assert_same(made, written(plain, "int n, double *c, double *d, double *e, double *g"))
    assert set(made.arrays) == {"one_re", "one_im", "s_re", "s_im", "t_re", "t_im", "x_re", "x_im", "y_re", "y_im"}


def test_names_of_arrays_as_types() -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < 4; j++) for (int k = 0; k < 8; k++) c[i][j][k] += d[j][k] * e[k];"
    types = "typedef unsigned char u8; typedef u8 row[8]; typedef row matrix[4]; typedef double *other;\n"
    made = written(body, "int n, matrix *c, const matrix d, other e", types)
    assert_same(made, written(body, "int n, u8 c[n][4][8], u8 d[4][8], double *e", types))
    assert [made.arrays[name].element_bytes for name in "cde"] == [1, 1, 8]


def test_rows_of_a_part_of_a_matrix() -> None:
    body = "for (int i = 0; i < m; i++) for (int j = 0; j < k; j++) x[i * {0} + j] = y[j * T + i];"
    made = written(body.format("n"))
    assert made.arrays["x"].dimensions == 2
    with pytest.raises(InputError, match="do not fit together"):
        shorthaul.affine.cdag(made, size="m=3,k=5,n=4,T=9")
    assert len(shorthaul.affine.cdag(made, size="m=3,k=5,n=5,T=3")["nodes"]) == 30
    assert shorthaul.affine.bound(made, upper=False).bound.details["assumes"] == "n >= k and T >= m"


@pytest.mark.parametrize(
    "before",
    ["#define RED 0\n#define BLACK 1\n", "enum { RED, BLACK };\n", "static const int RED = 0, BLACK = RED + 1;\n"],
)
def test_names_of_small_numbers(before: str) -> None:
    body = "for (int c = RED; c <= BLACK; c++) for (int i = 1; i < n; i++) if (i % 2 == c) c[i] += d[i - 1];"
    left = written(body.replace("c[i]", "x[i]"), before=before)
    right = written(body.replace("c[i]", "x[i]").replace("RED", "0").replace("BLACK", "1"))
    assert_same(left, right)


def test_a_function_without_pragma() -> None:
    plain = "double s = 0;\nfor (int i = 0; i < n; i++) s += c[i];\nfor (int i = 0; i < n; i++) c[i] = s;"
    assert_same(written(plain, marked=False), written(plain))
    assert_same(written(plain + "\nreturn;", marked=False), written(plain))


SUMS = {
    "ij,jk->ik": "for (int i = 0; i < m; i++) for (int k = 0; k < n; k++) { c[i][k] = 0; for (int j = 0; j < l; j++) c[i][k] += a[i][j] * b[j][k]; }",
    "i,j->ij": "for (int i = 0; i < m; i++) for (int j = 0; j < l; j++) c[i][j] = a[i] * b[j];",
    " ii -> ": "c[0] = 0; for (int i = 0; i < m; i++) c[0] += a[i][i];",
}


@pytest.mark.parametrize("text", SUMS)
def test_sums_of_products(text: str) -> None:
    extents = {"i": "m", "j": "l", "k": "n"}
    operands = ["".join(text.split()).partition("->")[0].split(",")][0]
    result = "".join(text.split()).partition("->")[2]
    arrays = [*zip("ab", operands, strict=False), ("c", result)]
    given = [
        f"double {name}" + ("".join(f"[{extents[item]}]" for item in letters) or "[1]") for name, letters in arrays
    ]
    plain = written(SUMS[text], ", ".join(["int m", "int n", "int l", *given]))
    sizes = {"i": 3, "j": 4, "k": 5}
    made = shorthaul.affine.program_from_text(text)
    here = {name: sizes[name] for name in made.parameters}
    there = {name: sizes[next(item for item in sizes if extents[item] == name)] for name in plain.parameters}
    left, right = shorthaul.affine.concrete_cdag(made, here), shorthaul.affine.concrete_cdag(plain, there)
    assert left.inputs == right.inputs
    assert np.array_equal(left.starts, right.starts)
    assert np.array_equal(left.operands, right.operands)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("i...j->i", "name every axis"),
        ("...ij,...jk", "'zij,zjk->zik'"),
        ("..., zbnuvwxyacdef", "no '->'"),
        ("i2,j->ij", "is no sum of products"),
        ("i" * 65 + ",j->ij", "too many axes"),
        ("ij->ii", "twice"),
        ("ij->k", "no operand has k"),
        ("iS->i", "fast memory"),
        ("->", "no operand has an axis"),
    ],
)
def test_wrong_sums(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        shorthaul.affine.bound(text)


def test_factors_in_subscripts_are_numbers_where_rows_need_them() -> None:
    head = "int m, int n, int T, double *x, double *y, double B[9][9]"
    body = "for (int a = 0; a < m; a++) for (int b = 0; b < n; b++) for (int k = 0; k < {1}; k++) x[a * n + b] += y[({0} * a + k) * ({0} * n + {1}) + b * {0} + k];"
    assert_same(written(body.format("S", "3"), head, "#define S 2\n"), written(body.format("2", "3"), head))
    told = "for (int k = 0; k < 3; k++) for (int a = 0; a < m; a++) for (int b = 0; b < n; b++) {{ int row = {0} * a + 1, at = {0} * b; if (row < T && at < n) x[a * n + b] += y[(k * T + row) * n + at]; }}"
    assert_same(written(told.format("STEP"), head, "#define STEP 2\n"), written(told.format("2"), head))
    rows = written(
        "for (int a = 0; a < m; a++) for (int b = 0; b < n; b++) x[a * LDA + b] = 0;", head, "#define LDA 64\n"
    )
    assert "LDA" in rows.parameters  # one that is a length of rows stays a parameter


@pytest.mark.parametrize(
    "body",
    [
        "int l = 0; for (int i = 0; i < n; i++) { if (i > 2) l = i - 2; c[i] = d[l]; }",  # goes on from an iteration
        "for (unsigned i = 0; i < n; i++) { unsigned l = i - 1; if (l >= n) l = 0; c[i] = d[l]; }",  # is never below 0
        "for (int i = 0; i < n; i++) { int l = 0; if (d[i] > 1) l = i; if (l > 3) l = 3; c[i] = d[l]; }",
    ],
)
def test_indices_set_twice_that_are_no_functions_of_loops(body: str) -> None:
    with pytest.raises(InputError):
        written(body)
